"""The columnar core: renderers (Arrow column -> Arrow text column) and the assembler (columns -> messages).

The only place of the library that knows Arrow buffers. A renderer takes one column of one batch and gives back a string
or binary array of the same length; a protocol lays such arrays out between constant bytes; the assembler joins them for
the whole batch at once. Nothing here knows a protocol, a topic or a clock.
"""
