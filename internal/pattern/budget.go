package pattern

import "fmt"

// MaxTotal bounds what all patterns of one document compile to together, in the
// measure of [MaxSize].
const MaxTotal = 250_000

// Budget is for the patterns of one document, each of which counts as often as it is
// written. The zero value allows for [MaxTotal]. It is for one goroutine at a time.
type Budget struct{ spent int }

// Check is like the function of that name, and tells about how many instructions a
// pattern compiles to. over says that there are too many patterns, and then none can
// be taken any more.
func (b *Budget) Check(expr string) (size int, foreign, over error) {
	size, effort, err := measure(expr)
	if b.spent += effort; b.spent > MaxTotal {
		b.spent = MaxTotal
		return size, err, fmt.Errorf("the patterns up to here compile to more than %d instructions together: want fewer of them, or shorter repetitions", MaxTotal)
	}
	return size, err, nil
}
