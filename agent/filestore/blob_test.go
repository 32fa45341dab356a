package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/storetest"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestBlobsOfATenant counts the blobs of a tenant while they are put, replaced and deleted, and from the files.
func TestBlobsOfATenant(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	counts := func(tenant string, want int64) {
		t.Helper()
		for _, again := range []bool{false, true} {
			got, err := filestore.OfTenant(s, run.Key{Tenant: tenant, ID: "any"}, again)
			check.That(t, err == nil && got == want, "counted again %t: got %d bytes of %q, %v, want %d", again, got, tenant, err, want)
		}
	}
	put := func(lease record.Lease, name string, n int) {
		t.Helper()
		check.Must(t, s.PutBlob(ctx, lease, name, make([]byte, n)))
	}
	b := run.Key{Tenant: "acme", ID: "b"}
	_, leaseA := create(t, s, run.Key{Tenant: "acme", ID: "a"})
	_, leaseB := create(t, s, b)
	_, leaseOther := create(t, s, run.Key{Tenant: "other", ID: "a"})
	counts("acme", 0)
	put(leaseA, "x", 100)
	put(leaseB, "x", 10)
	put(leaseB, "y", 1)
	put(leaseOther, "x", 5000)
	counts("acme", 111)
	put(leaseA, "x", 70)
	counts("acme", 81)
	check.Must(t, s.Delete(ctx, b))
	counts("acme", 70)
	counts("other", 5000)
}

// TestDamagedBlob finds each changed byte, and a missing one.
func TestDamagedBlob(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	_, lease := create(t, s, key)
	check.Must(t, s.PutBlob(ctx, lease, "x", []byte("what is kept")))
	found, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*", "x"))
	check.Require(t, err == nil && len(found) == 1, "got the files %q, %v", found, err)
	data := check.Value(os.ReadFile(found[0]))(t)
	for i := range data {
		for _, damaged := range [][]byte{flipped(data, i, 1), slices.Delete(slices.Clone(data), i, i+1)} {
			write(t, found[0], damaged)
			check.Is(t, check.Err(s.Blob(ctx, key, "x")), record.ErrCorrupt, "byte", i)
		}
	}
}

// TestBlobAtAPowerCut checks that a blob is durable when the put returns.
func TestBlobAtAPowerCut(t *testing.T) {
	dir := t.TempDir()
	for cut := 0; ; cut++ {
		d := newDisk()
		s := d.on(t, dir)
		_, lease := create(t, s, key)
		if cut > 0 {
			d.cut = d.changes + cut
		}
		err := s.PutBlob(ctx, lease, "x", []byte("what is kept"))
		for fate := range fates {
			got, failed := d.reboot(fate).on(t, dir).Blob(ctx, key, "x")
			if kept := failed == nil && string(got) == "what is kept"; err == nil && !kept || failed != nil && errors.Is(failed, record.ErrCorrupt) {
				t.Errorf("cut at change %d, %s: got %q, %v after %v", cut, fates[fate].name, got, failed, err)
			}
		}
		if cut > 0 && err == nil {
			break
		}
	}
}

// TestTenantOfFiles uses sparse files, which take no room on the disk.
func TestTenantOfFiles(t *testing.T) {
	storetest.Tenant(t, func(t *testing.T) (record.Store, func(run.Key, int64) record.Store) {
		dir := t.TempDir()
		return open(t, dir, nil), func(key run.Key, size int64) record.Store {
			files, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*", "a"))
			check.Require(t, err == nil && len(files) == 1, "got the blobs %q, %v", files, err)
			check.Must(t, os.Truncate(files[0], size))
			return open(t, dir, nil)
		}
	})
}
