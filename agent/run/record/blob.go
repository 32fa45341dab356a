package record

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Bounds of the blobs that are stored beside records, in bytes.
const (
	MaxBlob        = 32 << 20  // one blob
	maxRunBlobs    = 128 << 20 // all blobs of a run
	maxTenantBlobs = 4 << 30   // all blobs of a tenant
)

// sealRoom is how much longer an encrypted blob may be.
const sealRoom = 1 << 10

// maxBlobName bounds the name of a blob, in bytes.
const maxBlobName = 64

// CheckBlob checks the arguments of [Store.PutBlob], for implementations. ofRun and
// ofTenant are the bytes of the other blobs of the run and of the tenant. The error names the run, and
// matches [ErrTooLarge] above one of the bounds.
func CheckBlob(key run.Key, name string, size, ofRun, ofTenant int64) error {
	var err error
	switch {
	case !isBlobName(name):
		err = fmt.Errorf("name %.100q has to have 1 to %d lower-case letters, digits and hyphens", name, maxBlobName)
	case size > MaxBlob+sealRoom:
		err = fmt.Errorf("%w: blob has %d bytes, and may have %d", ErrTooLarge, size, MaxBlob)
	case ofRun+size > maxRunBlobs+sealRoom:
		err = fmt.Errorf("%w: with it the run would keep %d bytes, and may keep %d", ErrTooLarge, ofRun+size, maxRunBlobs)
	case ofTenant+size > maxTenantBlobs:
		err = fmt.Errorf("%w: with it the runs of the tenant would keep %d bytes, and may keep %d", ErrTooLarge, ofTenant+size, int64(maxTenantBlobs))
	default:
		return nil
	}
	return subject.Errorf("keep blob %.100q of run %q: %w", name, key.ID, err)
}

func isBlobName(name string) bool {
	return name != "" && len(name) <= maxBlobName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func blobsOf(ctx context.Context, store Store, key run.Key) (map[string][]byte, error) {
	names, err := store.Blobs(ctx, key)
	if err != nil {
		return nil, err
	}
	all := make(map[string][]byte, len(names))
	for _, name := range names {
		data, err := store.Blob(ctx, key, name)
		if errors.Is(err, ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return nil, err
		}
		all[name] = data
	}
	return all, nil
}

func verifyBlobs(ctx context.Context, store Store, s *ledger.State) error {
	all, err := blobsOf(ctx, store, run.Key{Tenant: s.Tenant, ID: s.ID})
	if err != nil {
		return err
	}
	for _, k := range s.Kept {
		data, ok := all[k.Handle]
		if !ok {
			return fmt.Errorf("run %q: the result %q is missing: %w", s.ID, k.Handle, ErrCorrupt)
		}
		if err := ledger.CheckKept(k, data); err != nil {
			return fmt.Errorf("run %q: %w: %w", s.ID, err, ErrCorrupt)
		}
	}
	return nil
}

func (m *memory) PutBlob(ctx context.Context, lease Lease, name string, data []byte) error {
	return m.withLease(ctx, fmt.Sprintf("keep blob %.100q of", name), lease, func(r *memoryRun) error {
		var ofTenant int64
		for key, other := range m.runs {
			if key.Tenant == lease.Key.Tenant {
				ofTenant += other.blobSize
			}
		}
		old := int64(len(r.blobs[name]))
		if err := CheckBlob(lease.Key, name, int64(len(data)), r.blobSize-old, ofTenant-old); err != nil {
			return err
		}
		if r.blobs == nil {
			r.blobs = map[string][]byte{}
		}
		r.blobs[name] = slices.Clone(data)
		r.blobSize += int64(len(data)) - old
		return nil
	})
}

func (m *memory) Blob(ctx context.Context, key run.Key, name string) (data []byte, err error) {
	err = m.withRun(ctx, fmt.Sprintf("load blob %.100q of", name), key, func(r *memoryRun) (err error) {
		var ok bool
		if data, ok = r.blobs[name]; !ok {
			err = ErrNotFound
		}
		return err
	})
	return data, err
}

func (m *memory) Blobs(ctx context.Context, key run.Key) (names []string, err error) {
	err = m.withRun(ctx, "list the blobs of", key, func(r *memoryRun) error {
		names = slices.Sorted(maps.Keys(r.blobs))
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return names, err
}

func (s *sealedStore) PutBlob(ctx context.Context, lease Lease, name string, data []byte) error {
	if len(data) > MaxBlob {
		return CheckBlob(lease.Key, name, MaxBlob+sealRoom+1, 0, 0)
	}
	box := s.keys.forRun(lease.Key).seal(s.keys.current, "blob", name, data, rand.Text())
	return s.Store.PutBlob(ctx, lease, name, box)
}

func (s *sealedStore) Blob(ctx context.Context, key run.Key, name string) ([]byte, error) {
	box, err := s.Store.Blob(ctx, key, name)
	if err != nil {
		return nil, err
	}
	data, err := s.keys.forRun(key).unseal("blob", name, box)
	if err != nil {
		return nil, fmt.Errorf("load blob %.100q of run %q: %w", name, key.ID, corruptError(err))
	}
	return data, nil
}
