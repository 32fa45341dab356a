package filestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// line is one change of a run, and the head after it.
type line struct {
	V       int          `json:"v"`
	Records []run.Record `json:"records"`
	Replies []run.Reply  `json:"answers"`
	Head    head         `json:"head"`
}

const version = 1

// head is the summary of a run at the end of each line.
type head struct {
	run.Head
	Answered []string `json:"answered,omitempty"` // open questions that have a reply
	Holder   string   `json:"holder,omitempty"`   // name of the last holder, for people
	Lasts    int64    `json:"lasts,omitzero"`     // TTL in nanoseconds
	Current  int64    `json:"current,omitzero"`   // offset of the line with the last snapshot; 0: unknown
}

// afterAppend returns the head after an Append whose line begins at the offset at. The members of
// the store stay; withReplies completes them.
func (h head) afterAppend(next run.Head, records []run.Record, at int64) head {
	next.Epoch, next.HeldUntil, next.TTL = h.Epoch, h.HeldUntil, h.TTL
	out := head{Head: next, Answered: h.Answered, Holder: h.Holder}
	switch {
	case next.Snapshot >= records[0].Seq: // it is in this line
		out.Current = at
	case next.Snapshot == h.Snapshot: // another version may have written a head without the offset
		out.Current = h.Current
	}
	return out
}

// withReplies adds the questions of replies to those that have one, and drops those that are not open.
func (h head) withReplies(replies []run.Reply) head {
	h.Answered = slices.Clone(h.Answered)
	for _, r := range replies {
		h.Answered = append(h.Answered, r.Question)
	}
	h.Answered = slices.DeleteFunc(h.Answered, func(id string) bool { return !slices.Contains(h.QuestionIDs, id) })
	h.ReplyCount = len(h.Answered)
	return h
}

// trailer is the last member of a line, of a fixed size.
type trailer struct {
	at     int64 // offset of the line in its file
	head   int64 // bytes of the head, which precedes the trailer
	synced int64 // how far the file was durable when the line was written
	sync   bool  // the line itself was synced before its change was reported
}

// As text a trailer has numbers of fixed sizes: at, head, synced, sync and the checksum of
// everything before it. [trailerOf] has the offsets.
const (
	trailerBegin  = `,"end":"`
	trailerFormat = trailerBegin + `%012x %08x %012x %c`
	sumFormat     = ` %08x"}`
	sumSize       = 11
	trailerSize   = 44 + sumSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the text of a line with its line break. It ignores t.head.
func encode(l *line, t trailer) ([]byte, error) {
	b := fmt.Appendf(nil, `{"v":%d`, version)
	b, err := encodeList(b, "records", l.Records)
	if err != nil {
		return nil, err
	}
	if b, err = encodeList(b, "answers", l.Replies); err != nil {
		return nil, err
	}
	l.Head.Lasts = int64(l.Head.TTL)
	head, err := json.Marshal(l.Head)
	if err != nil {
		return nil, err
	}
	flag := '-'
	if t.sync {
		flag = 's'
	}
	b = fmt.Appendf(b, `,"head":%s`+trailerFormat, head, t.at, len(head), t.synced, flag)
	b = fmt.Appendf(b, sumFormat, crc32.Checksum(b, castagnoli))
	return append(b, '\n'), nil
}

// encodeList adds a member with values that marshal themselves, none if there are no values.
// Package json would escape some of their characters.
func encodeList[T json.Marshaler](b []byte, name string, values []T) ([]byte, error) {
	for i, v := range values {
		data, err := v.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(data, '\n') >= 0 {
			return nil, errors.New("record has a line break")
		}
		if i == 0 {
			b = fmt.Appendf(b, `,"%s":[`, name)
		} else {
			b = append(b, ',')
		}
		b = append(b, data...)
	}
	if len(values) > 0 {
		b = append(b, ']')
	}
	return b, nil
}

// checkedTrailer returns the trailer of a line, which has no line break. complete is true if the
// line is complete and belongs at this offset.
func checkedTrailer(raw []byte, at int64) (t trailer, complete bool) {
	t, ok := trailerOf(raw)
	if !ok {
		return trailer{}, false
	}
	sumAt := len(raw) - sumSize
	sum := fmt.Appendf(nil, sumFormat, crc32.Checksum(raw[:sumAt], castagnoli))
	if !bytes.Equal(sum, raw[sumAt:]) {
		return trailer{}, false
	}
	return t, t.at == at && t.head <= int64(len(raw)-trailerSize) && t.synced <= at
}

// trailerOf returns the trailer of a line, which has no line break. It does not compare the
// checksum: the numbers of a damaged line may be any.
func trailerOf(raw []byte) (t trailer, ok bool) {
	if len(raw) < trailerSize {
		return trailer{}, false
	}
	text := raw[len(raw)-trailerSize:]
	if !bytes.HasPrefix(text, []byte(trailerBegin)) {
		return trailer{}, false
	}
	return trailer{
		at: parseNumber(text[8:20]), head: parseNumber(text[21:29]), synced: parseNumber(text[30:42]), sync: text[43] == 's',
	}, true
}

// parseNumber parses a number of a trailer. An invalid one is the largest, which no line can have.
func parseNumber(text []byte) int64 {
	n, err := strconv.ParseInt(string(text), 16, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// headOf returns the head of a line that is complete, see [checkedTrailer].
func headOf(raw []byte) (h head, err error) {
	t, _ := trailerOf(raw)
	stop := int64(len(raw) - trailerSize)
	err = jsonv2.Unmarshal(raw[stop-t.head:stop], &h, ledger.AnyJSON)
	h.TTL = time.Duration(h.Lasts)
	return h, err
}

// decode parses a line. The error says so if the line is of a later version of the format.
func decode(raw []byte) (*line, error) {
	var l line
	err := jsonv2.Unmarshal(raw, &l, ledger.AnyJSON) // has read the version, the first member, before it fails
	if l.V > version {
		return nil, fmt.Errorf("version %d, and this program reads versions up to %d", l.V, version)
	}
	return &l, err
}
