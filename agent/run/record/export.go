package record

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// exported is the first line of an exported run.
type exported struct {
	Version int         `json:"mcpchain_run"` // 1, or 2 with blobs
	Head    run.Head    `json:"head"`
	Records int         `json:"records"` // number of lines of records that follow
	Answers []run.Reply `json:"answers,omitempty"`
	Blobs   int         `json:"blobs,omitzero"` // number of lines of blobs after the records
}

type exportBlob struct {
	Name string `json:"blob"`
	Data []byte `json:"data"`
}

// exportEnd is the last line.
type exportEnd struct {
	SHA256 string `json:"sha256"` // the hash of all previous lines
}

// maxExport is the latest version of the format.
const maxExport = 2

// maxExportLine bounds a line, a record or a blob, in bytes.
const maxExportLine = 256 << 20

// Export writes a run as lines of JSON: its head with the replies to open questions, its
// records, its blobs, and a checksum of the previous lines. Export from a store
// of [Sealed] to get plain text; the store below it exports ciphertext. The error matches
// [ErrNotFound] if there is no such run.
func Export(ctx context.Context, store Store, key run.Key, w io.Writer) error {
	log, err := store.Load(ctx, key)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	blobs, err := blobsOf(ctx, store, key)
	if err != nil {
		return fmt.Errorf("export run %q: %w", key.ID, err)
	}
	if err := writeExport(w, log, blobs); err != nil {
		return fmt.Errorf("export run %q: %w", key.ID, err)
	}
	return nil
}

// blobsOf returns the blobs of a run by name, none if the run does not exist.
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

func writeExport(w io.Writer, log *Log, blobs map[string][]byte) error {
	first := exported{Version: 1, Head: log.Head, Records: len(log.Records), Answers: log.Replies, Blobs: len(blobs)}
	first.Head.Epoch, first.Head.HeldUntil, first.Head.ReplyCount = 0, time.Time{}, 0
	if len(blobs) > 0 {
		first.Version = maxExport
	}
	sum := sha256.New()
	out := bufio.NewWriter(io.MultiWriter(w, sum))
	write := func(line []byte, err error) error { // JSON, which has no line break
		if err == nil {
			_, _ = out.Write(line) // Flush has its error
			err = out.WriteByte('\n')
		}
		return err
	}
	if err := write(json.Marshal(first)); err != nil {
		return err
	}
	for _, r := range log.Records {
		if err := write(r.MarshalJSON()); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(blobs)) {
		if err := write(json.Marshal(exportBlob{name, blobs[name]})); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(exportEnd{hex.EncodeToString(sum.Sum(nil))})
}
