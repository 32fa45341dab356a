package sqlstore

// PageBy has List read n heads at a time.
func PageBy(s Store, n int) { s.(*database).pageSize = n }

// SetClock has leases go by the clock of a query.
func SetClock(store Store, query string) {
	s := store.(*database)
	d := *s.d
	d.clock = query
	s.d = &d
}

// Waiting is how many changes wait for a commit, and whether one is under way.
func Waiting(store Store) (changes int, committing bool) {
	s := store.(*database)
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	return len(s.group.queue), s.group.active
}
