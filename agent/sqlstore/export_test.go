package sqlstore

// PageBy has List read n heads at a time.
func (s *Store) PageBy(n int) { s.pageSize = n }

// SetClock has leases go by the clock of a query.
func (s *Store) SetClock(query string) {
	d := *s.d
	d.clock = query
	s.d = &d
}

// Waiting is how many changes wait for a commit, and whether one is under way.
func (s *Store) Waiting() (changes int, committing bool) {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	return len(s.group.queue), s.group.active
}
