//go:build !unix

package child

type offering struct{}

// Offer writes nothing: this system cannot write without waiting.
func (in *Input) Offer([]byte) (n int) { return 0 }
