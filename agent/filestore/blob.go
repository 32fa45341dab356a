package filestore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Data that is too long for a record has a file of its own: blobs/<hash of the tenant>/<hash of
// the run>/<name>. It begins with a line that names the format and has the checksum.
const blobFormat = "mcpchain blob 1 %08x\n"

var blobHeadSize = len(fmt.Sprintf(blobFormat, 0))

// tenantAge is how long the size of a tenant's blobs is cached. Other processes may add some
// meanwhile.
const tenantAge = time.Minute

type cachedSize struct {
	size int64
	at   time.Time
}

func (s *directory) tenantDir(key run.Key) string {
	sum := sha256.Sum256([]byte(key.Tenant))
	return filepath.Join(s.dir, "blobs", hex.EncodeToString(sum[:]))
}

func (s *directory) blobDir(key run.Key) string {
	return filepath.Join(s.tenantDir(key), strings.TrimSuffix(nameOf(key), suffix))
}

func (s *directory) PutBlob(ctx context.Context, lease record.Lease, name string, data []byte) error {
	err := s.changeAs(ctx, lease, func(file, tip) error { return s.putBlob(lease.Key, name, data) })
	return subject.Wrap(err, "keep blob %.100q of run %q", name, lease.Key.ID)
}

// putBlob writes a blob. The caller holds the lock of the run.
func (s *directory) putBlob(key run.Key, name string, data []byte) error {
	dir := s.blobDir(key)
	runSize, oldSize, err := s.blobSizes(dir, name)
	if err != nil {
		return err
	}
	tenantSize, err := s.tenantSize(key)
	if err != nil {
		return err
	}
	if err := record.CheckBlob(key, name, int64(len(data)), runSize-oldSize, tenantSize-oldSize); err != nil {
		return err
	}
	if err := s.writeChecked(filepath.Join(dir, name), data); err != nil {
		return err
	}
	s.addSize(key, int64(len(data))-oldSize)
	return nil
}

// writeChecked writes a file so that it is complete or absent, and creates its directory.
func (s *directory) writeChecked(path string, data []byte) error {
	if err := makeDirs(filepath.Dir(path)); err != nil {
		return err
	}
	return s.replace(path, func(f file) error {
		head := fmt.Appendf(nil, blobFormat, crc32.Checksum(data, castagnoli))
		if _, err := f.WriteAt(head, 0); err != nil {
			return err
		}
		return writeAt(f, data, int64(len(head)), s.sync)
	})
}

func (s *directory) Blob(ctx context.Context, key run.Key, name string) (data []byte, err error) {
	if err = ctx.Err(); err == nil {
		data, err = s.readBlob(key, name)
	}
	return data, subject.Wrap(err, "load blob %.100q of run %q", name, key.ID)
}

// readBlob reads a blob. The error matches [record.ErrNotFound] if there is none.
func (s *directory) readBlob(key run.Key, name string) ([]byte, error) {
	if record.CheckBlob(key, name, 0, 0, 0) != nil { // no path can be made of the name
		return nil, record.ErrNotFound
	}
	return s.readChecked(filepath.Join(s.blobDir(key), name))
}

// readChecked reads a file of writeChecked. The error matches [record.ErrNotFound] if there is none, and
// [record.ErrCorrupt] if its checksum is wrong.
func (s *directory) readChecked(path string) ([]byte, error) {
	f, err := s.files.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, record.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size < int64(blobHeadSize) || size > 2*ledger.MaxBlob {
		return nil, fmt.Errorf("%s has %d bytes: %w", path, size, record.ErrCorrupt)
	}
	all := make([]byte, size)
	if err := readAt(f, all, 0); err != nil {
		return nil, err
	}
	data := all[blobHeadSize:]
	if !bytes.Equal(all[:blobHeadSize], fmt.Appendf(nil, blobFormat, crc32.Checksum(data, castagnoli))) {
		return nil, fmt.Errorf("%s: its checksum is wrong: %w", path, record.ErrCorrupt)
	}
	return data, nil
}

func (s *directory) Blobs(ctx context.Context, key run.Key) (names []string, err error) {
	if err = ctx.Err(); err == nil {
		names, err = s.dirNames(s.blobDir(key))
	}
	return names, wrap("list the blobs of", key, err)
}

func (s *directory) blobSizes(dir, name string) (all, one int64, err error) {
	entries, err := s.readDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		n := max(0, info.Size()-int64(blobHeadSize))
		all += n
		if e.Name() == name {
			one = n
		}
	}
	return all, one, err
}

// tenantSize returns the size of the blobs of a tenant. It is approximate: for a minute the store only
// adds what it writes itself.
func (s *directory) tenantSize(key run.Key) (size int64, err error) {
	s.mu.Lock()
	c, ok := s.tenants[key.Tenant]
	s.mu.Unlock()
	if ok && time.Since(c.at) < tenantAge {
		return c.size, nil
	}
	dir := s.tenantDir(key)
	runs, err := s.dirNames(dir)
	if err != nil {
		return 0, err
	}
	for _, name := range runs {
		n, _, err := s.blobSizes(filepath.Join(dir, name), "")
		if err != nil {
			return 0, err
		}
		size += n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tenants) >= maxTenants {
		clear(s.tenants)
	}
	s.tenants[key.Tenant] = cachedSize{size, time.Now()}
	return size, nil
}

// maxTenants bounds the tenants whose size is cached.
const maxTenants = 1000

// addSize adds to the cached size of a tenant's blobs. more may be negative.
func (s *directory) addSize(key run.Key, more int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.tenants[key.Tenant]; ok {
		c.size += more
		s.tenants[key.Tenant] = c
	}
}

// removeBlobs removes the blobs of a run and their directory, which may be absent.
func (s *directory) removeBlobs(key run.Key) error {
	dir := s.blobDir(key)
	size, _, err := s.blobSizes(dir, "")
	if err != nil {
		return err
	}
	names, err := s.dirNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	s.addSize(key, -size)
	_ = os.Remove(dir) // an empty directory does no harm
	return nil
}

// remove removes a file, which may be absent.
func (s *directory) remove(path string) error {
	if err := s.files.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
