package xlsx

// SetRows sets how many rows a sheet takes.
func (w *Writer) SetRows(n int) { w.most = n }

// Letters is letters.
func Letters(column int) string { return letters(column) }
