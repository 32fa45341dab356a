package cost

import (
	"math/bits"

	"github.com/mcpchain/mcpchain/price"
)

// Most returns what so many tokens of input and output may cost at most at a price: the input may be
// written to a cache, and the output may be reasoning.
func Most(p price.Price, input, output int64) Money {
	var s sum
	s.add(input, max(p.Input, p.CacheWrite))
	s.add(output, max(p.Output, p.Reasoning))
	return Money{p.Currency, s.micro()}
}

// Affords returns how many tokens of output an amount buys after so much input, by
// [Most]. It is negative if the amount is too small for the input.
func Affords(p price.Price, micro, input int64) int64 {
	left := micro - Most(p, input, 0).Micro
	if left < 0 {
		return -1
	}
	each := uint64(max(p.Output, p.Reasoning))
	high, low := bits.Mul64(uint64(left), 1_000_000)
	if high >= each { // also if it is free
		return maxTokens
	}
	tokens, _ := bits.Div64(high, low, each)
	return int64(min(tokens, maxTokens))
}
