// IDs over gRPC, with retries: go run . TARGET COUNT FILE
//
// TARGET is an address such as dns:///ids.internal:50051, or several: 127.0.0.1:50051,127.0.0.1:50061.
// Writes COUNT IDs to FILE, one a line: one by one and in batches in turn.
package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"leaseflake.example/grpc/idgen"
)

//go:generate ./generate

// The same as ../service-config.json, which `generate` copies here.
//
//go:embed service-config.json
var serviceConfig string

const batchSize = 20

// connect gives a connection that tries again: a call that was not answered may be made anew, for no ID
// is given twice.
func connect(target string) (*grpc.ClientConn, error) {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(serviceConfig),
		// A server that is stopped breaks no connection; a ping finds it out.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
	}
	if strings.Contains(target, "://") {
		return grpc.NewClient(target, options...)
	}
	servers := manual.NewBuilderWithScheme("servers")
	var addresses []resolver.Address
	for _, address := range strings.Split(strings.TrimPrefix(target, "ipv4:"), ",") {
		addresses = append(addresses, resolver.Address{Addr: address})
	}
	servers.InitialState(resolver.State{Addresses: addresses})
	return grpc.NewClient("servers:///ids", append(options, grpc.WithResolvers(servers))...)
}

func run(target string, count int, path string) error {
	connection, err := connect(target)
	if err != nil {
		return err
	}
	defer connection.Close()
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	client := idgen.NewIdGeneratorServiceClient(connection)
	for left := count; left > 0; {
		lines := bufio.NewWriter(file)
		one, err := client.GenerateId(context.Background(), &idgen.GenerateIdRequest{CallerService: "example-go"})
		if err != nil {
			return err
		}
		fmt.Fprintln(lines, one.Id)
		left--
		if size := min(left, batchSize); size > 0 {
			request := &idgen.GenerateIdBatchRequest{Count: int32(size), CallerService: "example-go"}
			batch, err := client.GenerateIdBatch(context.Background(), request)
			if err != nil {
				return err
			}
			for _, id := range batch.Ids {
				fmt.Fprintln(lines, id)
			}
			left -= size
		}
		if err := lines.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: client TARGET COUNT FILE")
	}
	count, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = run(os.Args[1], count, os.Args[3])
	}
	if err != nil {
		log.Fatal(err)
	}
}
