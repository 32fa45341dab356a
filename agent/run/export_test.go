package run

// GrowBlobs has the blobs of a run of [NewMemory] count as so many bytes.
func GrowBlobs(s Store, key Key, size int64) { s.(*memory).runs[key].blobSize = size }
