package tiny

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// alignment is the boundary at which the data of each tensor begins, the default of the format.
const alignment = 32

// kind is the type of a value in the metadata.
type kind uint32

// Kinds of values, as the format numbers them.
const (
	kindUint32  kind = 4
	kindInt32   kind = 5
	kindFloat32 kind = 6
	kindBool    kind = 7
	kindString  kind = 8
	kindArray   kind = 9
)

// tensor is a matrix of floats, row by row, or a vector.
type tensor struct {
	name string
	dims []uint64 // the length of a row comes first
	data []float32
}

// file is a GGUF file of version 3, little-endian: metadata by name, the list of the tensors, and their data.
type file struct {
	head    bytes.Buffer
	values  uint64
	tensors []tensor
}

func (f *file) set(name string, value any) {
	f.values++
	putString(&f.head, name)
	switch v := value.(type) {
	case string:
		put(&f.head, kindString)
		putString(&f.head, v)
	case uint32:
		put(&f.head, kindUint32, v)
	case float32:
		put(&f.head, kindFloat32, v)
	case bool:
		put(&f.head, kindBool, v)
	case []int32:
		put(&f.head, kindArray, kindInt32, uint64(len(v)), v)
	case []string:
		put(&f.head, kindArray, kindString, uint64(len(v)))
		for _, text := range v {
			putString(&f.head, text)
		}
	default:
		panic(fmt.Sprintf("%s: metadata has no type for %T", name, v))
	}
}

// add adds a tensor with an element for each row and column. A vector has one row.
func (f *file) add(name string, columns, rows int, element func(row, column int) float32) {
	t := tensor{name: name, dims: []uint64{uint64(columns)}, data: make([]float32, 0, columns*rows)}
	if rows > 1 {
		t.dims = append(t.dims, uint64(rows))
	}
	for r := range rows {
		for c := range columns {
			t.data = append(t.data, element(r, c))
		}
	}
	f.tensors = append(f.tensors, t)
}

func (f *file) bytes() []byte {
	var out bytes.Buffer
	out.WriteString("GGUF")
	put(&out, uint32(3), uint64(len(f.tensors)), f.values)
	out.Write(f.head.Bytes())
	var offset uint64
	for _, t := range f.tensors {
		putString(&out, t.name)
		put(&out, uint32(len(t.dims)), t.dims, uint32(0), offset) // 0: floats of 32 bits
		offset += align(uint64(4 * len(t.data)))
	}
	for _, t := range f.tensors {
		pad(&out)
		put(&out, t.data)
	}
	pad(&out)
	return out.Bytes()
}

// align rounds up to the next boundary.
func align(n uint64) uint64 { return (n + alignment - 1) / alignment * alignment }

// pad adds zeros up to the next boundary.
func pad(b *bytes.Buffer) { b.Write(make([]byte, int(align(uint64(b.Len())))-b.Len())) }

// put writes values of fixed sizes, which cannot fail into a buffer.
func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		_ = binary.Write(b, binary.LittleEndian, v)
	}
}

func putString(b *bytes.Buffer, v string) {
	put(b, uint64(len(v)))
	b.WriteString(v)
}
