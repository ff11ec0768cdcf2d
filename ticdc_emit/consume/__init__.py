"""What reads messages. Nothing here imports what encoders stand on, so an error of one is not repeated in the other."""
