package jsonrpc

import (
	"errors"
	"fmt"
)

// Decoder reads JSON text from front to back, each part once. Loops over objects and arrays nest;
// if the body of a loop does not read a value, it is skipped:
//
//	for key := range d.Members {
//		switch string(key) {
//		case "name":
//			name, ok = d.String()
//		case "tags":
//			for range d.Elements { … }
//		}
//	}
//
// The first error ends all loops, and stays: see [Decoder.Err]. A loop that its body leaves early is an error, too.
type Decoder struct {
	s    scanner
	max  int
	read int // elements so far
	err  error
}

// totalRatio is the bound for all arrays together, divided by that for one of them.
const totalRatio = 10

// NewDecoder returns a decoder of JSON text. An array may have at most max elements, and all arrays
// together ten times as many; skipped and raw arrays do not count.
func NewDecoder(data []byte, max int) Decoder {
	return Decoder{s: scanner{data: data}, max: max}
}

// Err is the error that ended the decoding, nil for none.
func (d *Decoder) Err() error { return d.err }

// Fail ends the decoding, unless it has ended before.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// Kind is the first character of the next value, or 0.
func (d *Decoder) Kind() byte {
	if d.err != nil {
		return 0
	}
	d.s.space()
	return d.s.peek()
}

// End fails the decoding if anything but white space is left, and returns [Decoder.Err].
func (d *Decoder) End() error {
	if d.s.space(); d.s.pos < len(d.s.data) {
		d.Fail(fmt.Errorf("more text at byte %d, after the value", d.s.pos))
	}
	return d.err
}

// Offset is the decoder's position in its text.
func (d *Decoder) Offset() int { return d.s.pos }

// Spend counts the elements of all arrays in raw, a value that another function decodes. It fails
// the decoding if all arrays together have too many.
func (d *Decoder) Spend(raw []byte) { d.spend(CountElements(raw)) }

func (d *Decoder) spend(n int) {
	if d.read += n; d.read > totalRatio*d.max {
		d.Fail(fmt.Errorf("more than %d elements in all", totalRatio*d.max))
	}
}

// Within calls read with a decoder of raw that shares the count of elements with d, and returns its error.
func (d *Decoder) Within(raw []byte, read func(inner *Decoder)) error {
	inner := Decoder{s: scanner{data: raw}, max: d.max, read: d.read}
	read(&inner)
	d.read = inner.read
	return inner.err
}

// Since returns the text from an offset to the decoder's position.
func (d *Decoder) Since(offset int) []byte { return d.s.data[offset:d.s.pos:d.s.pos] }

// Raw reads any value unchanged, nil after an error.
func (d *Decoder) Raw() []byte {
	if d.err != nil {
		return nil
	}
	d.s.space()
	start := d.s.pos
	d.err = d.s.value()
	if d.err != nil {
		return nil
	}
	return d.Since(start)
}

// String reads a string. It moves past any other value; then ok is false, without an error.
func (d *Decoder) String() (s string, ok bool) { return String(d.Raw()) }

// Members ranges over the names of an object. A name is valid until the next.
func (d *Decoder) Members(yield func(key []byte) bool) {
	if d.err != nil {
		return
	}
	err := d.s.object(func(key []byte) error {
		start := d.s.pos
		if !yield(key) {
			d.Fail(errStopped)
		}
		return d.skipUnread(start)
	})
	d.Fail(err)
}

// Elements ranges over the indices of an array. Too many elements fail the decoding.
func (d *Decoder) Elements(yield func(i int) bool) {
	if d.err != nil {
		return
	}
	i := 0
	err := d.s.array(func() error {
		if i == d.max {
			return fmt.Errorf("more than %d elements", d.max)
		}
		if d.spend(1); d.err != nil {
			return d.err
		}
		start := d.s.pos
		if !yield(i) {
			d.Fail(errStopped)
		}
		i++
		return d.skipUnread(start)
	})
	d.Fail(err)
}

// errStopped marks a loop that its body left.
var errStopped = errors.New("not read to the end")

// skipUnread skips the value at start unless it was read.
func (d *Decoder) skipUnread(start int) error {
	if d.err == nil && d.s.pos == start {
		return d.s.value()
	}
	return d.err
}
