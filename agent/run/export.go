package run

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// exported is the first line of an exported run.
type exported struct {
	Version int      `json:"mcpchain_run"` // 1
	Head    Head     `json:"head"`
	Records int      `json:"records"` // lines that follow
	Answers []Answer `json:"answers,omitempty"`
}

// exportEnd is the last line.
type exportEnd struct {
	SHA256 string `json:"sha256"` // of all lines before
}

// MaxExportLine bounds a line of an exported run, in bytes: a record of a run.
const MaxExportLine = 256 << 20

// Export writes a run as lines of JSON: its head with the answers to open questions, its records, and a checksum of the lines
// before. From a store of [Sealed] it writes what the run says; from the store below, what is sealed stays so. The error matches [ErrNotFound]
// if there is no such run.
func Export(ctx context.Context, store Store, key Key, w io.Writer) error {
	log, err := store.Load(ctx, key)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	head := log.Head
	head.Epoch, head.Held, head.Answers = 0, time.Time{}, 0
	sum := sha256.New()
	out := bufio.NewWriter(io.MultiWriter(w, sum))
	line := func(v json.Marshaler) error {
		data, err := v.MarshalJSON()
		if err == nil {
			_, err = out.Write(append(data, '\n'))
		}
		return err
	}
	err = line(plain{exported{1, head, len(log.Records), log.Answers}})
	for i := 0; i < len(log.Records) && err == nil; i++ {
		err = line(log.Records[i])
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = json.NewEncoder(w).Encode(exportEnd{hex.EncodeToString(sum.Sum(nil))})
	}
	if err != nil {
		return fmt.Errorf("export run %q: %w", key.ID, err)
	}
	return nil
}

// plain writes a value as encoding/json does.
type plain struct{ v any }

func (p plain) MarshalJSON() ([]byte, error) { return json.Marshal(p.v) }

// importChunk is about how many bytes of records an import keeps at once.
const importChunk = 8 << 20

// Import reads a run that [Export] has written, and keeps it under the key that it had, held by nobody. It checks the checksum, and
// that the records make the head, before it keeps anything. The error matches [ErrExists] if the store has a run of that key. A
// store that fails meanwhile may have a part of the run: delete it.
func Import(ctx context.Context, store Store, r io.Reader) (Key, error) {
	head, records, sizes, answers, err := readExport(r)
	if err != nil {
		return Key{}, fmt.Errorf("import: %w", err)
	}
	if err := importRun(ctx, store, head, records, sizes, answers); err != nil {
		return Key{}, fmt.Errorf("import run %q: %w", head.Key.ID, err)
	}
	return head.Key, nil
}

func readExport(r io.Reader) (head Head, records []Record, sizes []int, answers []Answer, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxExportLine)
	sum := sha256.New()
	next := func(what string) ([]byte, error) {
		if !lines.Scan() {
			return nil, fmt.Errorf("%s: %w", what, errors.Join(lines.Err(), io.ErrUnexpectedEOF))
		}
		return lines.Bytes(), nil
	}
	var first exported
	data, err := next("the first line")
	if err == nil {
		err = json.Unmarshal(data, &first)
	}
	switch {
	case err != nil:
		return head, nil, nil, nil, fmt.Errorf("it is not an exported run: %w", err)
	case first.Version != 1:
		return head, nil, nil, nil, fmt.Errorf("it is not an exported run of version 1: mcpchain_run is %d", first.Version)
	}
	sum.Write(append(bytes.Clone(data), '\n'))
	for i := range first.Records {
		if data, err = next(fmt.Sprintf("record %d", i+1)); err != nil {
			return head, nil, nil, nil, err
		}
		sum.Write(append(bytes.Clone(data), '\n'))
		var record Record
		if err := record.UnmarshalJSON(data); err != nil {
			return head, nil, nil, nil, err
		}
		records, sizes = append(records, record), append(sizes, len(data))
	}
	var end exportEnd
	if data, err = next("the last line"); err == nil {
		err = json.Unmarshal(data, &end)
	}
	if err == nil && end.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
		err = fmt.Errorf("its checksum is wrong: %w", ErrCorrupt)
	}
	return first.Head, records, sizes, first.Answers, err
}

// importRun keeps a run, in chunks with the head of each. Sealed records are kept at once: nobody knows the heads between.
func importRun(ctx context.Context, store Store, head Head, records []Record, sizes []int, answers []Answer) error {
	if len(records) == 0 {
		return errors.New("it has no records")
	}
	heads, err := headsOf(head, records, sizes)
	if err != nil {
		return err
	}
	var lease Lease
	done := 0
	for _, h := range heads {
		n := int(h.Seq - records[0].Seq + 1)
		if done == 0 {
			lease, err = store.Create(ctx, Holder{Name: "import"}, h, records[:n])
		} else {
			err = store.Append(ctx, lease, h, records[done:n])
		}
		if err != nil {
			return err
		}
		done = n
	}
	if len(answers) > 0 {
		return store.Answer(ctx, head.Key, answers)
	}
	return nil
}

// headsOf are the heads of the chunks of a run, the last one that of the run.
func headsOf(head Head, records []Record, sizes []int) (heads []Head, err error) {
	if _, sealed := records[0].Change.(*sealedChange); sealed {
		return []Head{head}, nil
	}
	s, size := new(State), 0
	for i, r := range records {
		if err := Apply(s, r); err != nil {
			return nil, err
		}
		if size += sizes[i]; size > importChunk || i == len(records)-1 {
			heads, size = append(heads, HeadOf(s)), 0
		}
	}
	if got := heads[len(heads)-1]; got.Key != head.Key || got.Seq != head.Seq || got.Status != head.Status {
		return nil, fmt.Errorf("its records make run %q, %s at record %d, and its head is of %q, %s at %d: %w",
			got.Key.ID, got.Status, got.Seq, head.Key.ID, head.Status, head.Seq, ErrCorrupt)
	}
	return heads, nil
}
