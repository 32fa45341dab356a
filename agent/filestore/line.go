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
)

// line is one change of a run, and the head after it.
type line struct {
	V       int          `json:"v"`
	Records []run.Record `json:"records"`
	Replies []run.Reply  `json:"answers"`
	Head    head         `json:"head"`
}

// version is the version of the format of lines.
const version = 1

// head is the summary of a run at the end of each line.
type head struct {
	run.Head
	Answered []string `json:"answered,omitempty"` // open questions that have a reply
	Holder   string   `json:"holder,omitempty"`   // name of the last holder, for people
	Lasts    int64    `json:"lasts,omitzero"`     // TTL in nanoseconds
	Current  int64    `json:"current,omitzero"`   // offset of the line with the last snapshot; 0: unknown
}

// follow returns the head after an Append whose line begins at the offset at. The members of
// the store stay.
func (h head) follow(next run.Head, records []run.Record, at int64) head {
	next.Epoch, next.Held, next.TTL = h.Epoch, h.Held, h.TTL
	out := head{Head: next, Holder: h.Holder}.withReplies(h.Answered)
	switch {
	case next.Snapshot >= records[0].Seq: // it is in this line
		out.Current = at
	case next.Snapshot == h.Snapshot: // another version may have written a head without the offset
		out.Current = h.Current
	}
	return out
}

// withReplies adds questions that have a reply, and drops those that are not open.
func (h head) withReplies(questions []string) head {
	closed := func(question string) bool { return !slices.Contains(h.Questions, question) }
	h.Answered = slices.DeleteFunc(slices.Concat(h.Answered, questions), closed)
	h.Replies = len(h.Answered)
	return h
}

// end is the last member of a line, of a fixed size.
type end struct {
	at     int64 // offset of the line in its file
	head   int   // bytes of the head, which precedes the end
	synced int64 // how far the file was durable when the line was written
	sync   bool  // the line itself was synced before its change was reported
}

// As text the end has numbers of fixed sizes: at, head, synced, sync and the checksum of
// everything before it.
const (
	endFormat = `,"end":"%012x %08x %012x %c`
	sumFormat = ` %08x"}`
	sumSize   = 11
	endSize   = 44 + sumSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the text of a line.
func encode(l *line, e end) ([]byte, error) {
	b := fmt.Appendf(nil, `{"v":%d`, version)
	b, err := encodeList(b, "records", l.Records)
	if err != nil {
		return nil, err
	}
	if b, err = encodeList(b, "answers", l.Replies); err != nil {
		return nil, err
	}
	before := len(b)
	l.Head.Lasts = int64(l.Head.TTL)
	if b, err = appendMember(b, "head", l.Head); err != nil {
		return nil, err
	}
	e.head = len(b) - before - len(`,"head":`)
	flag := '-'
	if e.sync {
		flag = 's'
	}
	b = fmt.Appendf(b, endFormat, e.at, e.head, e.synced, flag)
	b = fmt.Appendf(b, sumFormat, crc32.Checksum(b, castagnoli))
	return append(b, '\n'), nil
}

// encodeList adds a member with values that marshal themselves. Package json would escape some
// of their characters.
func encodeList[T json.Marshaler](b []byte, name string, values []T) ([]byte, error) {
	for i, v := range values {
		data, err := v.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(data, '\n') >= 0 {
			return nil, errors.New("a record has a line break")
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

func appendMember(b []byte, name string, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(b, `,"%s":`, name), data...), nil
}

// parseEnd parses the end of a line without its line break. whole is true if the line is
// complete and belongs at this offset.
func parseEnd(raw []byte, at int64) (e end, whole bool) {
	if len(raw) < endSize {
		return end{}, false
	}
	sumAt := len(raw) - sumSize
	sum := fmt.Appendf(nil, sumFormat, crc32.Checksum(raw[:sumAt], castagnoli))
	if !bytes.Equal(sum, raw[sumAt:]) {
		return end{}, false
	}
	text := raw[len(raw)-endSize:]
	e = end{at: number(text[8:20]), head: int(number(text[21:29])), synced: number(text[30:42]), sync: text[43] == 's'}
	return e, e.at == at && e.head <= len(raw)-endSize && e.synced <= at
}

// number parses a number of an end. Its checksum was compared.
func number(text []byte) int64 {
	n, err := strconv.ParseInt(string(text), 16, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// headOf returns the head of a line.
func headOf(raw []byte, e end) (h head, err error) {
	stop := len(raw) - endSize
	err = jsonv2.Unmarshal(raw[stop-e.head:stop], &h)
	h.TTL = time.Duration(h.Lasts)
	return h, err
}

// decode parses a line.
func decode(raw []byte) (*line, error) {
	var l line
	var v struct {
		V int `json:"v"`
	}
	err := jsonv2.Unmarshal(raw, &l)
	if err == nil {
		v.V = l.V
	} else if other := jsonv2.Unmarshal(raw, &v); other != nil {
		return nil, err
	}
	if v.V > version {
		return nil, fmt.Errorf("it has version %d, and this program reads versions up to %d", v.V, version)
	}
	return &l, err
}
