package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpchain/mcpchain/internal/private"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// lists stores the lists of tools in a directory, one file per server, readable by its owner only.
// Processes may share it.
type lists string

const (
	listSuffix = ".tools.json"
	maxList    = 16 << 20 // bounds one list, in bytes
)

// path returns the file of a server, by the hash of how it is reached.
func (dir lists) path(server string) string {
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(string(dir), hex.EncodeToString(sum[:])+listSuffix)
}

// load returns the list of a server, nil if none is stored.
func (dir lists) load(server string) (defs []*mcp.Tool, err error) {
	path := dir.path(server)
	list, err := private.ReadFile(path, maxList, 0o022)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(list, &defs); err != nil {
		return nil, fmt.Errorf("%s: %w: remove it", path, err)
	}
	return defs, nil
}

// store replaces the list of a server, and creates the directory if necessary.
func (dir lists) store(server string, defs []*mcp.Tool) error {
	list, err := json.Marshal(append([]*mcp.Tool{}, defs...)) // an empty list is written as []
	if err != nil {
		return err
	}
	if len(list) > maxList {
		return fmt.Errorf("%d bytes: want at most %d", len(list), maxList)
	}
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		return err
	}
	private.Sweep(string(dir))
	return private.WriteFile(dir.path(server), list)
}
