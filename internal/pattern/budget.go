package pattern

import "fmt"

// MaxTotal bounds the size of all patterns of one document together, in the
// unit of [MaxSize].
const MaxTotal = 250_000

// Budget bounds the patterns of one document. A pattern counts each time it is
// written. The zero value allows [MaxTotal]. It is for one goroutine at a time.
type Budget struct{ spent int }

// Check is like the function Check, and returns the approximate size of a
// pattern in instructions. If over is set, the budget is used up, and no more
// patterns are accepted.
func (b *Budget) Check(expr string) (size int, foreign, over error) {
	size, effort, err := measure(expr)
	if b.spent += effort; b.spent > MaxTotal {
		b.spent = MaxTotal
		return size, err, fmt.Errorf("the patterns up to here compile to more than %d instructions together: want fewer of them, or shorter repetitions", MaxTotal)
	}
	return size, err, nil
}
