package agent

// slab makes values by many at a time. None of them is freed before all are.
type slab[T any] struct {
	n     int // how many are likely to be made
	spare []T
}

// maxSlab bounds the values that are made at a time.
const maxSlab = 64

// one is a new value.
func (s *slab[T]) one() *T {
	if len(s.spare) == 0 {
		s.spare = make([]T, max(1, min(s.n, maxSlab)))
		s.n -= len(s.spare)
	}
	v := &s.spare[0]
	s.spare = s.spare[1:]
	return v
}
