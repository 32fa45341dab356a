package filestore_test

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestNetworkFileSystem opens a store on a network file system only with Options.AllowNetwork.
func TestNetworkFileSystem(t *testing.T) {
	dir := t.TempDir()
	if _, err := filestore.OpenAt("NFS", dir, nil); err == nil || !strings.Contains(err.Error(), dir+" is on a network file system (NFS)") || !strings.Contains(err.Error(), "Options.AllowNetwork") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
	check.NoError(t, check.Err(filestore.OpenAt("NFS", dir, &filestore.Options{AllowNetwork: true})), "with the word of the host")
	check.NoError(t, check.Err(filestore.Open(dir, nil)), "a local one")
}
