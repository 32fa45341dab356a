package filestore

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/mcpchain/mcpchain/agent/run/record"
)

// tip is the end of the complete lines of a file, with the content of the last one.
type tip struct {
	head   head
	end    int64 // offset of the next line
	synced int64 // how far the file is durable; a power cut may lose the rest
	bare   bool  // the line break of the last line is missing
	torn   bool  // a crash has left something after the end
}

// scan visits the lines of data, which begins with a line at an offset of its file, without their
// line breaks. It ignores what a crash has left at the end. The error names the line, counted
// from the beginning of data. It matches [record.ErrCorrupt] if a line is damaged in another way,
// and is otherwise an error of visit or of the last head. After an error the tip is that of the lines
// before, if there are any: it has the key of the run.
func scan(data []byte, at int64, visit func(raw []byte) error) (t tip, err error) {
	var last []byte // the last complete line
	defer func() {
		if last != nil {
			h, headErr := headOf(last)
			t.head, err = h, cmp.Or(err, headErr)
		}
	}()
	t = tip{end: at, synced: at}
	for n := 1; len(data) > 0; n++ {
		raw, after, ended := bytes.Cut(data, []byte{'\n'})
		e, complete := checkedTrailer(raw, t.end)
		if !complete {
			t.torn = isTorn(data, t.end)
			if !t.torn {
				err = fmt.Errorf("line %d: %w", n, record.ErrCorrupt)
			}
			return t, err
		}
		if err := visit(raw); err != nil {
			return t, fmt.Errorf("line %d: %w", n, err)
		}
		last, data = raw, after
		t.bare = !ended
		t.end += int64(len(raw)) + 1
		t.synced = e.synced
		if e.sync {
			t.synced = t.end
		}
	}
	return t, nil
}

const sector = 512 // bytes that a disk writes atomically

// isTorn reports whether an incomplete line was left by a crash: the line was cut, or one of
// its sectors was never written. In the second case the lines after it were lost with it,
// unless the line is known to be durable.
func isTorn(rest []byte, at int64) bool {
	i := bytes.IndexByte(rest, '\n')
	if i < 0 {
		_, complete := checkedTrailer(rest[:len(rest)-1], at)
		return !complete // a line with another byte instead of its line break was not cut
	}
	if !hasHole(rest[:i], at) {
		return false
	}
	for offset := at; i >= 0; i = bytes.IndexByte(rest, '\n') {
		if e, complete := checkedTrailer(rest[:i], offset); complete && e.synced > at {
			return false
		}
		rest = rest[i+1:]
		offset += int64(i) + 1
	}
	return true
}

// hasHole reports whether a sector of a line, which begins at an offset, has only zero bytes, as JSON
// never has. The last sector has the line break, too.
func hasHole(line []byte, at int64) bool {
	for {
		n := sector - int(at%sector)
		if n > len(line) {
			return false
		}
		if len(bytes.Trim(line[:n], "\x00")) == 0 {
			return true
		}
		line = line[n:]
		at += int64(n)
	}
}

const tailSize = 4 << 10 // bytes; most last lines fit

// readTip reads the last line of a file, and the lines before it that may not be durable. ok is
// false if the whole file must be read: it is empty, torn or damaged, or its last line does not
// say where those lines begin. An error is the disk's.
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
	t, err = scan(data[begin-from:], begin, func([]byte) error { return nil })
	return t, err == nil && !t.torn, nil
}

// lastBegin returns the offset from which lines may not be durable according to the last line of
// tail. It does not compare the checksum of the line.
func lastBegin(tail []byte) (begin int64, ok bool) {
	raw, ended := bytes.CutSuffix(tail, []byte{'\n'})
	t, ok := trailerOf(raw)
	return min(t.at, t.synced), ok && ended
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
