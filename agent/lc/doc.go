// Package lc connects agents with langchaingo.
//
// [Model] adapts any model of langchaingo for agents:
//
//	a, err := agent.New(lc.Model(llm, nil), nil)
//
// [Chain] makes a chain from an agent:
//
//	chain := lc.Chain(a)
//	answer, err := chains.Run(ctx, chain, "What do I need in Oslo?") // chains is a package of langchaingo
//
// The guide docs/agent.md of the repository has a chapter on langchaingo.
package lc
