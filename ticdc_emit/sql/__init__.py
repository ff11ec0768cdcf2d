"""TiDB's dialect of SQL: text to a tree, a tree to text, and the evaluation of expressions over Arrow."""
