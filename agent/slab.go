package agent

// slab allocates values in batches. A batch is freed as a whole.
type slab[T any] struct {
	n     int // how many are likely to be needed
	spare []T
}

// maxSlab bounds a batch.
const maxSlab = 64

// one returns a new value.
func (s *slab[T]) one() *T {
	if len(s.spare) == 0 {
		s.spare = make([]T, max(1, min(s.n, maxSlab)))
		s.n -= len(s.spare)
	}
	v := &s.spare[0]
	s.spare = s.spare[1:]
	return v
}
