"""Row changes as data: what a change is, its images and attributes, and what a codec makes of them."""
