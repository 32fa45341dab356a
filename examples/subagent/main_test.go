package main

func Example() {
	main()
	// Output:
	//   open_letter → Letter 1: … we kindly ask for 20 euros until Monday …
	// reader → Pay 20 euros until Monday.
	// You have to pay 20 euros until Monday.
	// 4 model calls, 2 tool calls
}
