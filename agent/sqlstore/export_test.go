package sqlstore

// PageBy has List read n heads at a time.
func (s *Store) PageBy(n int) { s.pageSize = n }
