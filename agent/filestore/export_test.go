package filestore

import (
	"path/filepath"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// The directories of marks.
const (
	DueShelf       = string(filepath.Separator) + dueShelf + string(filepath.Separator)
	WaitingShelves = string(filepath.Separator) + waitingShelves + string(filepath.Separator)
)

// NameOf returns the name of the file of a run.
var NameOf = nameOf

// OfTenant returns the cached size of the blobs of a tenant, counted again if again is true.
func OfTenant(store Store, key run.Key, again bool) (int64, error) {
	s := store.(*directory)
	if again {
		clear(s.tenants)
	}
	return s.tenantSize(key)
}

// SetClock replaces the clock of leases.
func SetClock(s Store, now func() time.Time) { s.(*directory).now = now }

// OpenAt opens a store on a file system with that name.
func OpenAt(network, dir string, opts *Options) (Store, error) {
	return open(dir, opts, osFS{}, func(string) string { return network })
}

// FS is the file system of a store, and File an open file of it.
type (
	FS   = fileSystem
	File = file
)

// OS returns the file system of the operating system.
func OS() FS { return osFS{} }

// OpenOn opens a store on a file system.
func OpenOn(files FS, dir string, opts *Options) (Store, error) {
	return open(dir, opts, files, networkOf)
}
