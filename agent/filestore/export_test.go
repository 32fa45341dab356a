package filestore

import "time"

// NameOf is the name of the file of a run.
var NameOf = nameOf

// SetClock has leases go by another clock.
func (s *Store) SetClock(now func() time.Time) { s.now = now }
