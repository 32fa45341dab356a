package sampling

import "github.com/mcpchain/mcpchain/internal/price"

// Prices is a table of prices. Date is the day when they were looked up, such as
// "2026-11-22": [New] refuses a table with prices and without a day. The first price in Models counts whose name fits. There are no built-in
// prices.
type Prices = price.Table

// Price is what a million tokens of a model cost, in millionths of a currency's unit:
//
//	{Model: "gpt-5-mini*", Currency: "USD", Input: 250_000, Cached: 25_000, Output: 2_000_000}
//
// In the name of the model * stands for any text. Cached and CacheWrite are for input that
// is read from and written to a cache, by default as Input. Reasoning is by default as
// Output.
type Price = price.Price

func (o *Options) priceOf(model string) *Price {
	p, ok := o.Prices.Of(model)
	if !ok {
		return nil
	}
	return &p
}
