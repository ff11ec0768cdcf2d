"""The only package that works on Arrow buffers: renderers of columns as text columns, and the assembler of messages."""
