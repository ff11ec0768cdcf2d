"""The columnar core: renderers (from Arrow column to Arrow text column) and the assembler (from columns to messages).

Only this package works on Arrow buffers. A renderer takes one column of one batch and returns a string or binary array
of the same length. A protocol arranges such arrays between constant bytes. The assembler joins them for the whole batch
at once. Nothing here depends on a protocol, a topic or a clock.
"""
