package oauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpchain/mcpchain/internal/private"
)

// maxEntry bounds one file of a store.
const maxEntry = 1 << 20

// NewFileStore returns a store in a directory, and creates the directory if it is missing. Each
// entry is a file for only the owner (mode 0600), replaced as a whole, and locked during an update,
// so that any number of processes can share the store. The secrets in it are not encrypted.
//
// NewFileStore refuses symbolic links. On Unix it also refuses a directory or file of another user,
// a directory that a group or others can write to, and a file that they can read or write. On other
// systems the permissions of the directory decide.
func NewFileStore(dir string) (Store, error) {
	if dir == "" {
		return nil, errors.New("file store: no directory given")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("file store: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("file store: %w", err)
	}
	if err := private.CheckDir(dir); err != nil {
		return nil, fmt.Errorf("file store: %w", err)
	}
	return &fileStore{dir}, nil
}

type fileStore struct{ dir string }

// entry is the content of a file. The key is for people who look into the
// directory, and to check that the file is the right one.
type entry struct {
	Key   Key             `json:"key"`
	Value json.RawMessage `json:"value"`
}

func (s *fileStore) path(key Key) string {
	name, _ := json.Marshal(key)
	sum := sha256.Sum256(name)
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

func (s *fileStore) Load(_ context.Context, key Key) ([]byte, error) {
	data, err := private.ReadFile(s.path(key), maxEntry, 0o077)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var e entry
	if json.Unmarshal(data, &e) != nil || e.Key != key {
		return nil, nil
	}
	return e.Value, nil
}

func (s *fileStore) Update(ctx context.Context, key Key, change func(context.Context, []byte) ([]byte, error)) (err error) {
	if err := private.CheckDir(s.dir); err != nil {
		return err
	}
	unlock, err := private.Lock(ctx, s.path(key)+".lock") // also among the callers of this process
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	old, err := s.Load(ctx, key)
	if err != nil {
		return err
	}
	value, err := change(ctx, old)
	if err != nil || value != nil && bytes.Equal(value, old) { // an unchanged value needs no room on the disk
		return err
	}
	return s.write(key, value)
}

// write replaces a whole file: readers see the old content or the new one.
func (s *fileStore) write(key Key, value []byte) error {
	path := s.path(key)
	if value == nil {
		if err := private.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(entry{key, value})
	if err != nil {
		return errors.New("value is not JSON") // json's error would show it
	}
	if len(data) > maxEntry {
		return fmt.Errorf("entry of %d bytes is over %d", len(data), maxEntry)
	}
	private.Sweep(s.dir)
	return private.WriteFile(path, data)
}
