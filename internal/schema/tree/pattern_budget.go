package tree

import "fmt"

// MaxPatterns bounds the size of all patterns of one document together, in the
// unit of [MaxPattern].
const MaxPatterns = 250_000

// PatternBudget bounds the patterns of one document. A pattern counts each time it is
// written. The zero value allows [MaxPatterns]. It is for one goroutine at a time.
type PatternBudget struct{ spent int }

// Check returns the approximate size of a pattern in instructions. foreign is the error of
// [CheckPattern] for the pattern. If over is not nil, the budget is used up.
func (b *PatternBudget) Check(expr string) (size int, foreign, over error) {
	size, effort, err := measure(expr)
	if b.spent += effort; b.spent > MaxPatterns {
		b.spent = MaxPatterns
		return size, err, fmt.Errorf("patterns up to here compile to more than %d instructions together: want fewer of them, or shorter repetitions", MaxPatterns)
	}
	return size, err, nil
}
