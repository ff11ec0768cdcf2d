// Package orders keeps the rows of shop.orders as TiCDC's Canal-JSON messages describe them.
package orders

import "encoding/json"

// Row holds the values of a row by column; nil is NULL.
type Row map[string]*string

// Table is the consumer under test: the rows by id.
type Table struct {
	rows    map[string]Row
	columns map[string]bool
}

// NewTable returns a table without rows.
func NewTable() *Table {
	return &Table{rows: map[string]Row{}, columns: map[string]bool{}}
}

// Apply takes the value of a message.
func (t *Table) Apply(value []byte) error {
	var message struct {
		Type string
		Data []Row
	}
	if err := json.Unmarshal(value, &message); err != nil {
		return err
	}
	switch message.Type {
	case "INSERT", "UPDATE":
		for _, row := range message.Data {
			t.put(row)
		}
	case "DELETE":
		for _, row := range message.Data {
			delete(t.rows, *row["id"])
		}
	case "TRUNCATE", "ERASE":
		clear(t.rows)
	}
	return nil // also a watermark, and DDL that changes no row: rows bring their columns
}

func (t *Table) put(row Row) {
	t.rows[*row["id"]] = row
	for column := range row {
		t.columns[column] = true
	}
}

// Rows returns the rows by id; a row from before an ADD COLUMN has nil there.
func (t *Table) Rows() map[string]Row {
	for _, row := range t.rows {
		for column := range t.columns {
			if _, ok := row[column]; !ok {
				row[column] = nil
			}
		}
	}
	return t.rows
}
