package filestore_test

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/filestore"
)

// TestNetworkFileSystem opens a store on a network file system only with Options.Network.
func TestNetworkFileSystem(t *testing.T) {
	dir := t.TempDir()
	if _, err := filestore.OpenAt("NFS", dir, nil); err == nil || !strings.Contains(err.Error(), dir+" is on a network file system (NFS)") || !strings.Contains(err.Error(), "Options.Network") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
	if _, err := filestore.OpenAt("NFS", dir, &filestore.Options{Network: true}); err != nil {
		t.Errorf("with the word of the host: got %v", err)
	}
	if _, err := filestore.Open(dir, nil); err != nil {
		t.Errorf("a local one: got %v", err)
	}
}
