package filestore

import (
	"bytes"
	"fmt"
	"io"

	"github.com/mcpchain/mcpchain/agent/run/record"
)

// tip is the last complete line of a file.
type tip struct {
	head   head
	end    int64 // offset of the next line
	synced int64 // how far the file is durable; a power cut may lose the rest
	bare   bool  // the line break of the last line is missing
	torn   bool  // a crash has left something after the end
}

// span is a part of a file, from the beginning of a line.
type span struct {
	data []byte
	at   int64 // offset in the file
	line int   // number of its first line, for errors; 0: unknown
}

// scan visits the lines of a span. It cuts what a crash has left at the end. The error matches
// [record.ErrCorrupt] if anything else is wrong.
func scan(s span, visit func(raw []byte) error) (t tip, err error) {
	t.end, t.synced = s.at, s.at
	var last []byte
	var e end
	defer func() {
		if err != nil && last != nil { // earlier lines say whose run it is
			t.head, _ = headOf(last, e)
		}
	}()
	for rest := s.data; len(rest) > 0; s.line++ {
		raw, after, broken := bytes.Cut(rest, []byte{'\n'})
		next, whole := parseEnd(raw, t.end)
		if !whole {
			if !tornAt(rest, t.end) {
				return t, fmt.Errorf("line %d: %w", s.line, record.ErrCorrupt)
			}
			t.torn = true
			break
		}
		if err := visit(raw); err != nil {
			return t, fmt.Errorf("line %d: %w", s.line, err)
		}
		last, e, rest, t.bare = raw, next, after, !broken
		t.end += int64(len(raw)) + 1
		t.synced = e.synced
		if e.sync {
			t.synced = t.end
		}
	}
	if last == nil {
		return t, nil
	}
	t.head, err = headOf(last, e)
	return t, err
}

const sector = 512 // bytes that a disk writes atomically

// tornAt reports whether an incomplete line was left by a crash: the line was cut, or one of
// its sectors was never written. In the second case the lines after it were lost with it,
// unless the line is known to be durable.
func tornAt(rest []byte, at int64) bool {
	i := bytes.IndexByte(rest, '\n')
	if i < 0 {
		_, whole := parseEnd(rest[:len(rest)-1], at)
		return !whole // a line with another byte instead of its line break was not cut
	}
	if !hasHole(rest[:i], at) {
		return false
	}
	for place := at; i >= 0; i = bytes.IndexByte(rest, '\n') {
		if e, whole := parseEnd(rest[:i], place); whole && e.synced > at {
			return false
		}
		rest, place = rest[i+1:], place+int64(i)+1
	}
	return true
}

// hasHole reports whether a sector of a line at that offset is zero, which JSON never is. The
// last sector has the line break, too.
func hasHole(line []byte, at int64) bool {
	for {
		n := sector - int(at%sector)
		if n > len(line) {
			return false
		}
		if len(bytes.Trim(line[:n], "\x00")) == 0 {
			return true
		}
		line, at = line[n:], at+int64(n)
	}
}

const tailSize = 4 << 10 // bytes; most last lines fit

// readTip reads the last line of a file, and the lines before it that may not be durable. ok is
// false if that takes the rest of the file.
func readTip(f io.ReaderAt, size int64) (t tip, ok bool, err error) {
	from := max(0, size-tailSize)
	data := make([]byte, size-from)
	if err := readAt(f, data, from); err != nil {
		return tip{}, false, err
	}
	begin, ok := lastBegin(data)
	if !ok || begin < 0 || begin >= size {
		return tip{}, false, nil
	}
	if begin < from {
		data = make([]byte, size-begin)
		if err := readAt(f, data, begin); err != nil {
			return tip{}, false, err
		}
		from = begin
	}
	t, err = scan(span{data: data[begin-from:], at: begin}, func([]byte) error { return nil })
	return t, err == nil && !t.torn, nil
}

// lastBegin returns the offset from which lines may not be durable according to the last line.
// It does not compare the checksum of the line.
func lastBegin(tail []byte) (begin int64, ok bool) {
	raw, broken := bytes.CutSuffix(tail, []byte{'\n'})
	if !broken || len(raw) < endSize {
		return 0, false
	}
	text := raw[len(raw)-endSize:]
	if !bytes.HasPrefix(text, []byte(endFormat[:8])) {
		return 0, false
	}
	return min(number(text[8:20]), number(text[30:42])), true
}

// readAt fills data. A file that is too short is damaged, or being changed.
func readAt(f io.ReaderAt, data []byte, at int64) error {
	n, err := f.ReadAt(data, at)
	if n == len(data) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
