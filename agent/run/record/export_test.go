package record

import "github.com/mcpchain/mcpchain/agent/run"

// GrowBlobs makes the blobs of a run of [NewMemory] count as that many bytes.
func GrowBlobs(s Store, key run.Key, size int64) { s.(*memory).runs[key].blobSize = size }
