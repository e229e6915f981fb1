# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# For tests of gateways whose groups are in etcd. Sourced after lib.sh and group.sh.
#
#     ga ---- mg0 ----+---- etcd, 10.8.0.1 in the namespace sw
#     gc ---- mg0 ----+

# ADDRESS...: certificates of etcd, at these addresses, and of the gateways, by an authority of their own.
fleet_certificates()
{
	local name names
	printf -v names ',IP:%s' "$@"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca \
		-keyout "$lab_dir/ca.key" -out "$lab_dir/ca.crt" 2>/dev/null
	for name in etcd gateway; do
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$name \
			-keyout "$lab_dir/$name.key" -out "$lab_dir/$name.csr" 2>/dev/null
		openssl x509 -req -in "$lab_dir/$name.csr" -CA "$lab_dir/ca.crt" -CAkey "$lab_dir/ca.key" -CAcreateserial \
			-days 2 -extfile <(echo "subjectAltName = ${names#,}") -out "$lab_dir/$name.crt" 2>/dev/null
	done
	chmod 600 "$lab_dir"/*.key
}

fleet_etcd_start()
{
	spawn sw etcd --data-dir "$lab_dir/etcd" --listen-client-urls https://10.8.0.1:2379 \
		--advertise-client-urls https://10.8.0.1:2379 --listen-peer-urls http://127.0.0.1:2380 \
		--initial-advertise-peer-urls http://127.0.0.1:2380 --initial-cluster default=http://127.0.0.1:2380 \
		--client-cert-auth --trusted-ca-file "$lab_dir/ca.crt" --cert-file "$lab_dir/etcd.crt" \
		--key-file "$lab_dir/etcd.key" >>"$lab_dir/etcd.log" 2>&1
	lab_pid[etcd]=$!
	poll etcd_ctl endpoint health >/dev/null 2>&1 || fail "etcd does not start: $(tail -n 3 "$lab_dir/etcd.log")"
}

etcd_ctl()
{
	ETCDCTL_API=3 on sw etcdctl --endpoints https://10.8.0.1:2379 --cacert "$lab_dir/ca.crt" \
		--cert "$lab_dir/gateway.crt" --key "$lab_dir/gateway.key" "$@"
}

# Links to etcd, and settings for lab_config.
fleet_up()
{
	local g last=11 member=1
	lab_sa_extra="esn = true;"
	ip -n "$lab_id-sw" link add etcd0 type bridge mcast_snooping 0
	ip -n "$lab_id-sw" address add 10.8.0.1/24 dev etcd0
	ip -n "$lab_id-sw" link set etcd0 up
	for g in a c; do
		lab_link g$g mg0 sw mg-$g
		ip -n "$lab_id-sw" link set mg-$g master etcd0
		ip -n "$lab_id-g$g" address add 10.8.0.$last/24 dev mg0
		last=12
		lab_extra[$g]=${lab_extra[$g]/role = \"standby\"; /}
		lab_extra[$g]+="fleet = { member = $member; endpoints = [ \"https://10.8.0.9:2379\", \"https://10.8.0.1:2379\" ]; lease = 3; ca = \"ca.crt\";
			certificate = \"gateway.crt\"; private_key = \"gateway.key\"; };"
		member=2
	done
	fleet_certificates 10.8.0.1
	fleet_etcd_start
}
