module github.com/holdfast-project/holdfast/agent

go 1.26.0

require github.com/holdfast-project/holdfast/shared v0.0.0

replace github.com/holdfast-project/holdfast/shared => ../shared

require (
	golang.org/x/sys v0.50.0
	google.golang.org/grpc v1.85.0
	k8s.io/cri-api v0.36.3
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/redis/go-redis/v9 v9.23.0 // indirect
	github.com/yuin/gopher-lua v1.1.2 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
