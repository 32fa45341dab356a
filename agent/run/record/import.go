package record

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Import reads a run that [Export] has written, and stores it under its original key, with no
// holder. Before it stores anything it verifies the checksum, and that the records produce the
// head. The error matches [ErrExists] if there is a run with that key.
//
// If the import ends halfway, the store may have a part of the run, which stays held, so that nobody
// continues it. Import the same export again to complete it; another one is refused until the part is
// deleted. A part that lacks records is listed as failed, and [DeleteEnded] deletes it after a day. A run
// may be imported several times at once: it is whole when one of the imports has returned nil.
func Import(ctx context.Context, store Store, r io.Reader) (run.Key, error) {
	in, err := readExport(r)
	if err != nil {
		return run.Key{}, fmt.Errorf("import: %w", err)
	}
	if err = in.checkHead(); err == nil {
		err = in.store(ctx, store)
	}
	if err != nil {
		return run.Key{}, fmt.Errorf("import run %q: %w", in.head.Key.ID, err)
	}
	return in.head.Key, nil
}

// imported is an exported run, as it was read.
type imported struct {
	head    run.Head
	records []run.Record
	replies []run.Reply
	blobs   []exportBlob
}

// readExport reads the lines of a run, and compares their checksum.
func readExport(r io.Reader) (*imported, error) {
	lines := &lineReader{lines: bufio.NewScanner(r), sum: sha256.New()}
	lines.lines.Buffer(nil, maxExportLine)
	var first exported
	err := lines.read("the first line", into(&first))
	switch {
	case err != nil:
		return nil, fmt.Errorf("not an exported run: %w", err)
	case first.Version < 1 || first.Version > maxExport:
		return nil, fmt.Errorf("not an exported run of version 1 or %d: mcpchain_run is %d", maxExport, first.Version)
	}
	in := &imported{head: first.Head, replies: first.Answers}
	for i := range first.Records {
		var record run.Record
		if err := lines.read(fmt.Sprintf("record %d", i+1), record.UnmarshalJSON); err != nil {
			return nil, err
		}
		in.records = append(in.records, record)
	}
	for i := range first.Blobs {
		var b exportBlob
		if err := lines.read(fmt.Sprintf("blob %d", i+1), into(&b)); err != nil {
			return nil, err
		}
		in.blobs = append(in.blobs, b)
	}
	return in, lines.checkSum()
}

// lineReader reads the lines of an exported run.
type lineReader struct {
	lines *bufio.Scanner
	sum   hash.Hash // of the lines so far
}

// read decodes the next line. what names it in errors.
func (r *lineReader) read(what string, decode func([]byte) error) error {
	if !r.lines.Scan() {
		return fmt.Errorf("%s: %w", what, errors.Join(r.lines.Err(), io.ErrUnexpectedEOF))
	}
	r.sum.Write(r.lines.Bytes())
	r.sum.Write([]byte{'\n'})
	return decode(r.lines.Bytes())
}

func into(v any) func([]byte) error {
	return func(data []byte) error { return json.Unmarshal(data, v) }
}

// checkSum compares the last line with the checksum of the lines before it.
func (r *lineReader) checkSum() error {
	want := hex.EncodeToString(r.sum.Sum(nil))
	var end exportEnd
	if err := r.read("the last line", into(&end)); err != nil {
		return err
	}
	if end.SHA256 != want {
		return fmt.Errorf("wrong checksum: %w", ErrCorrupt)
	}
	return nil
}

// checkHead compares the head with the records. It replaces the head by the one that they produce,
// unless they are encrypted: without the keys only their number can be compared.
func (in *imported) checkHead() error {
	if len(in.records) == 0 {
		return errors.New("no records")
	}
	if _, sealed := ledger.ChangeOf(in.records[0]).(*ledger.Sealed); sealed {
		if last := in.records[len(in.records)-1].Seq; in.head.Seq != last {
			return fmt.Errorf("last record is %d, and the head is of record %d: %w", last, in.head.Seq, ErrCorrupt)
		}
		return nil
	}
	s, err := ledger.StateOf(in.records)
	if err != nil {
		return err
	}
	head, got := in.head, ledger.HeadOf(s)
	if got.Key != head.Key || got.Seq != head.Seq || got.Status != head.Status {
		return fmt.Errorf("records make run %q, %s at record %d, and the head is of %q, %s at %d: %w",
			got.Key.ID, got.Status, got.Seq, head.Key.ID, head.Status, head.Seq, ErrCorrupt)
	}
	in.head = got
	return nil
}

// The lease of an import keeps others from the run until it is complete, however long that takes and also if the
// process ends before: without its blobs and replies a run must not continue. No other lease is as long.
const (
	importHolder = "import (if it was interrupted, import the run again)"
	importTTL    = 100 * 365 * 24 * time.Hour
	maxImport    = 24 * time.Hour // an import that began earlier was interrupted
)

// isImport reports whether an import holds a run, or has left it. The clock of the store may differ from this one.
func isImport(head run.Head) bool { return head.TTL == importTTL && !head.HeldUntil.IsZero() }

// store stores the run, and releases it once it is complete. The last record comes after the blobs and replies, unless it is
// the only one: so of several imports that store the run at the same time, only one completes it.
func (in *imported) store(ctx context.Context, store Store) error {
	lease, chunks, err := in.begin(ctx, store)
	if err != nil {
		return err
	}
	for _, b := range in.blobs {
		if err := store.PutBlob(ctx, lease, b.Name, b.Data); err != nil {
			return err
		}
	}
	last := max(0, len(chunks)-1)
	if err := in.append(ctx, store, lease, chunks[:last]); err != nil {
		return err
	}
	if len(in.replies) > 0 {
		if err := store.Reply(ctx, in.head.Key, in.replies); err != nil {
			return err
		}
	}
	if err := in.append(ctx, store, lease, chunks[last:]); err != nil {
		return err
	}
	return release(ctx, store, lease)
}

func (in *imported) append(ctx context.Context, store Store, lease Lease, chunks [][]run.Record) error {
	for _, records := range chunks {
		if err := store.Append(ctx, lease, in.headAfter(records), records); err != nil {
			return err
		}
	}
	return nil
}

// begin creates the run, or continues what another import of the same export has stored. It returns the records
// that are missing.
func (in *imported) begin(ctx context.Context, store Store) (lease Lease, missing [][]run.Record, err error) {
	chunks := in.chunks(0)
	lease, err = store.Create(ctx, Holder{Name: importHolder, TTL: importTTL}, in.headAfter(chunks[0]), chunks[0])
	if !errors.Is(err, ErrExists) {
		return lease, chunks[1:], err
	}
	part, loadErr := store.Load(ctx, in.head.Key)
	switch {
	case loadErr != nil:
		return Lease{}, nil, fmt.Errorf("%w: %w", err, loadErr)
	case !isImport(part.Head):
		return Lease{}, nil, err
	case !in.beginsWith(part):
		return Lease{}, nil, fmt.Errorf("%w, a part of another export: import that one again, or delete the run", err)
	}
	lease = Lease{Key: in.head.Key, Epoch: part.Head.Epoch}
	n := len(part.Records)
	if n == len(in.records) && (n > 1 || len(in.blobs)+len(in.replies) == 0) {
		return Lease{}, nil, errors.Join(err, release(ctx, store, lease))
	}
	return lease, in.chunks(n), nil
}

// beginsWith reports whether a part of a run has the first records of this one, and takes its replies.
func (in *imported) beginsWith(part *Log) bool {
	n := len(part.Records)
	isSame := func(a, b run.Record) bool { return a.Seq == b.Seq && bytes.Equal(a.JSON, b.JSON) }
	return n <= len(in.records) && slices.EqualFunc(part.Records, in.records[:n], isSame) &&
		slices.Equal(part.Head.QuestionIDs, in.head.QuestionIDs)
}

// importChunk is the approximate size in bytes of the records that are stored together.
const importChunk = 8 << 20

// chunks divides the records from an index on into those that are stored together. If there are blobs or replies, the last
// record is a chunk of its own, see store.
func (in *imported) chunks(first int) (chunks [][]run.Record) {
	size, last, hasMore := 0, len(in.records)-1, len(in.blobs)+len(in.replies) > 0
	for i := first; i <= last; i++ {
		size += len(in.records[i].JSON)
		if size > importChunk || i == last || i == last-1 && hasMore {
			chunks = append(chunks, in.records[first:i+1])
			first, size = i+1, 0
		}
	}
	return chunks
}

// headAfter returns the head after a chunk. Until the last one it is the head of a failed run, whose questions take replies.
func (in *imported) headAfter(records []run.Record) run.Head {
	head := in.head
	if last := records[len(records)-1].Seq; last != head.Seq {
		head.Seq, head.Status, head.Wake, head.Questions = last, run.StatusFailed, time.Time{}, nil
		if head.Snapshot > last {
			head.Snapshot = 0
		}
	}
	return head
}
