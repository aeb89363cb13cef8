module github.com/authwire/authwire/test/proofs

go 1.26.0

// The stubs of this repository.
replace github.com/authwire/authwire/gen/go => ../../gen/go

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/authwire/authwire/gen/go v0.0.0-00010101000000-000000000000
	github.com/go-sql-driver/mysql v1.10.1
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.12-20260825204119-511051f7f437.2 // indirect
	filippo.io/edwards25519 v1.2.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)
