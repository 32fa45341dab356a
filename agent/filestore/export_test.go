package filestore

import (
	"path/filepath"
	"time"
)

// The directories of marks, in a path.
const (
	DueShelf     = string(filepath.Separator) + dueShelf + string(filepath.Separator)
	WaitingShelf = string(filepath.Separator) + waitingShelf + string(filepath.Separator)
)

// OS is the file system of the operating system.
var OS FS = osFS{}

// NameOf is the name of the file of a run.
var NameOf = nameOf

// SetClock has leases go by another clock.
func (s *Store) SetClock(now func() time.Time) { s.now = now }
