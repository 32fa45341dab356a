package main

func Example() {
	main()
	// Output:
	// pay {"to":"Ann","amount":250}
	//   → Error: 250.00 is more than the balance of 100.00
	// balance {}
	//   → 100
	// pay {"to":"Ann","amount":100}
	//   → Ann has got 100.00.
	// There was not enough for 250, so Ann has got 100.
}
