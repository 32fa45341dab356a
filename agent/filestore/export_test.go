package filestore

import (
	"path/filepath"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// The directories of marks.
const DueShelf = string(filepath.Separator) + dueShelf + string(filepath.Separator)
const WaitingShelves = string(filepath.Separator) + waitingShelves + string(filepath.Separator)

var NameOf = nameOf

// OfTenant returns the cached size of the blobs of a tenant, counted again if again is true.
func OfTenant(store record.Store, key run.Key, again bool) (int64, error) {
	s := store.(*directory)
	if again {
		clear(s.tenants)
	}
	return s.tenantSize(key)
}

func SetClock(s record.Store, now func() time.Time) { s.(*directory).now = now }

// OpenAt opens a store on a file system with that name.
func OpenAt(network, dir string, opts *Options) (record.Store, error) {
	return open(dir, opts, osFS{}, func(string) string { return network })
}

// SetBounds replaces the bounds of a change and of a file.
func SetBounds(s record.Store, line, file int64) {
	s.(*directory).maxLine, s.(*directory).maxFile = line, file
}

// FS is the file system of a store, and File an open file of it.
type FS = fileSystem
type File = file

func OS() FS { return osFS{} }

func OpenOn(files FS, dir string, opts *Options) (record.Store, error) {
	return open(dir, opts, files, networkOf)
}
