DELETE FROM tb_account;
DELETE FROM tb_audit;
INSERT INTO tb_audit (id, voucher_id, admin_id, request_id, shop_id, action, changes, delta, operation, create_time) VALUES
(1, 0, 9000001, '17051b88-9135-4e91-b7ec-9e7894b95426', 1, 'create', '[{"field":"webhook","from":"","to":"1"},{"field":"shopId","from":"0","to":"1"},{"field":"url","from":"","to":"http://127.0.0.1:9/hook"}]', 0, 0, '2026-11-28 11:49:43.240'),
(2, 1, 9000001, '7a68abdd-dfc0-48eb-8aa5-0ea2bdd5df6c', 2, 'create', '[{"field":"shopId","from":"","to":"2"},{"field":"title","from":"","to":"ended"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"3"},{"field":"beginTime","from":"","to":"2026-01-01T00:00:00.000Z"},{"field":"endTime","from":"","to":"2099-01-01T00:00:00.000Z"},{"field":"paused","from":"","to":"false"}]', 0, 0, '2026-11-28 11:49:44.742'),
(3, 2, 9000001, '5ffd6a29-caa5-42d5-ba81-58262241a3a7', 2, 'create', '[{"field":"shopId","from":"","to":"2"},{"field":"title","from":"","to":"archived"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"3"},{"field":"beginTime","from":"","to":"2026-01-01T00:00:00.000Z"},{"field":"endTime","from":"","to":"2099-01-01T00:00:00.000Z"},{"field":"paused","from":"","to":"false"}]', 0, 0, '2026-11-28 11:49:44.754'),
(4, 3, 9000001, '4f6b6560-b0aa-44b1-a4bf-889b22cd993d', 1, 'create', '[{"field":"shopId","from":"","to":"1"},{"field":"title","from":"","to":"running"},{"field":"subTitle","from":"","to":"一人一份"},{"field":"rules","from":"","to":"it\'s \\"one\\" \\\\ \'a\' person;"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"perUser","from":"","to":"3"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"30"},{"field":"beginTime","from":"","to":"2026-01-01T00:00:00.000Z"},{"field":"endTime","from":"","to":"2099-01-01T00:00:00.000Z"},{"field":"paused","from":"","to":"false"},{"field":"guards","from":"","to":"{\\"limits\\":{\\"perUser\\":{\\"requests\\":1000,\\"seconds\\":10}},\\"conditions\\":{\\"minAgeDays\\":7,\\"dryRun\\":true},\\"coolDown\\":{\\"expired\\":2,\\"minutes\\":60}}"}]', 0, 0, '2026-11-28 11:49:44.955'),
(5, 3, 9000001, 'f4abfd7d-f7ff-4540-bb9c-5b9ddd4e78f0', 1, 'stock', '[]', 5, 1, '2026-11-28 11:49:45.179'),
(6, 3, 9000001, '5deb01e1-c826-4f2b-a67a-4b7e831eedeb', 1, 'change', '[{"field":"title","from":"running","to":"renamed"}]', 0, 0, '2026-11-28 11:49:45.193'),
(7, 3, 9000001, '361ea7c2-9da0-4bae-a6e9-651185bf3c1b', 1, 'create', '[{"field":"template","from":"","to":"Friday"}]', 0, 0, '2026-11-28 11:49:45.198'),
(8, 4, 9000001, 'e44894ac-c4cb-4361-ba8d-c01d6a060f61', 2, 'create', '[{"field":"shopId","from":"","to":"2"},{"field":"title","from":"","to":"sold-out"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"2"},{"field":"beginTime","from":"","to":"2026-01-01T00:00:00.000Z"},{"field":"endTime","from":"","to":"2099-01-01T00:00:00.000Z"},{"field":"paused","from":"","to":"false"},{"field":"waitlistWindowSeconds","from":"","to":"604800"}]', 0, 0, '2026-11-28 11:49:45.298'),
(9, 5, 9000001, '9e3d7db2-7aa5-43a9-b716-1737cfe96464', 2, 'create', '[{"field":"shopId","from":"","to":"2"},{"field":"title","from":"","to":"to-come"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"5"},{"field":"beginTime","from":"","to":"2098-01-01T00:00:00.000Z"},{"field":"endTime","from":"","to":"2099-01-01T00:00:00.000Z"},{"field":"paused","from":"","to":"false"},{"field":"guards","from":"","to":"{\\"tickets\\":{\\"delayMs\\":10000,\\"leadMinutes\\":30,\\"expiryMinutes\\":10},\\"challenge\\":{\\"difficulty\\":4,\\"maxDifficulty\\":16}}"}]', 0, 0, '2026-11-28 11:49:46.490'),
(10, 6, 9000001, '3644751e-d7c8-46b8-8f3c-d7a33d1c1d45', 2, 'create', '[{"field":"shopId","from":"","to":"2"},{"field":"title","from":"","to":"tea"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"1500"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"perUser","from":"","to":"2"},{"field":"status","from":"","to":"1"}]', 0, 0, '2026-11-28 11:49:46.510'),
(11, 1, 9000001, '44e4d86f-a0ba-4d6c-856c-27e9e7d07f1b', 2, 'change', '[{"field":"endTime","from":"2099-01-01T00:00:00.000Z","to":"2026-11-28T11:49:56.000Z"}]', 0, 0, '2026-11-28 11:49:46.533'),
(12, 2, 9000001, 'c7a52480-00f2-4207-ac38-4901be81637d', 2, 'change', '[{"field":"endTime","from":"2099-01-01T00:00:00.000Z","to":"2026-11-28T11:49:56.000Z"}]', 0, 0, '2026-11-28 11:49:46.547'),
(13, 2, 9000001, '40666b0f-5f5b-40d9-bafd-524684a0685d', 2, 'archive', '[{"field":"archiveTime","from":"","to":"2026-11-28T11:49:56.133Z"}]', 0, 0, '2026-11-28 11:49:56.133');
DELETE FROM tb_coupon;
INSERT INTO tb_coupon (order_id, code, voucher_id, shop_id, valid_until, due_time, reservation, reserved_by, reserve_key, reserved_until, ended_requests, redeemed_by, redeem_key, create_time) VALUES
(665167535300424598, '0RR7GQWP7XSWTQQM', 3, 1, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, '2026-11-28 11:49:45.233'),
(665167535937240509, '0W538R7GEYGA3DWS', 3, 1, NULL, NULL, NULL, NULL, NULL, NULL, '', 9, 'redeem-665167535937240509', '2026-11-28 11:49:45.243'),
(665167537833096281, '0R81PRYNH3ZDNZY2', 3, 1, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, '2026-11-28 11:49:45.271'),
(665167538345016267, '0A60V1XK8B8MM2V2', 2, 2, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, '2026-11-28 11:49:46.542'),
(665167538497496793, '00Z7Z8H5279G0HW3', 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, '2026-11-28 11:49:46.529');
DELETE FROM tb_fence;
INSERT INTO tb_fence (name, token) VALUES
('expirer', 1795866583221959),
('keys', 1795866583224888),
('lapser', 1795866583224166);
DELETE FROM tb_format;
INSERT INTO tb_format (id, format, ledger) VALUES
(1, '0.9', '7d4defc8ee539ed8');
DELETE FROM tb_issuer;
DELETE FROM tb_limited_buyer;
INSERT INTO tb_limited_buyer (voucher_id, user_id, writes) VALUES
(6, 301, 1);
DELETE FROM tb_order_event;
INSERT INTO tb_order_event (id, order_id, status, actor, why, create_time) VALUES
(1, 665167535300424598, 2, 'payment provider', '', '2026-11-28 11:49:45.233'),
(2, 665167535937240509, 2, 'payment provider', '', '2026-11-28 11:49:45.243'),
(3, 665167535937240509, 3, 'till 9', '', '2026-11-28 11:49:45.247'),
(4, 665167533763367129, 4, 'owner', '', '2026-11-28 11:49:45.256'),
(5, 665167537833096281, 2, 'payment provider', '', '2026-11-28 11:49:45.271'),
(6, 665167537833096281, 5, 'owner', '', '2026-11-28 11:49:45.285'),
(7, 665167537833096281, 6, 'payment provider', 'MONEY_BACK', '2026-11-28 11:49:45.291'),
(8, 665167534703437724, 4, 'owner', '', '2026-11-28 11:49:45.385'),
(9, 665167536880274959, 1, 'waiting list', 'INVITATION_ACCEPTED', '2026-11-28 11:49:46.434'),
(10, 665167534044088004, 4, 'owner', '', '2026-11-28 11:49:46.462'),
(11, 665167538497496793, 2, 'payment provider', '', '2026-11-28 11:49:46.529'),
(12, 665167538345016267, 2, 'payment provider', '', '2026-11-28 11:49:46.542');
DELETE FROM tb_payment;
INSERT INTO tb_payment (number, id, order_id, user_id, voucher_id, shop_id, amount, state, operation, create_time, receive_time, accept_time, refunding_time, refund_time, stuck_time, refusal, close_time, return_time, gone_before, returned, dispute, disputed, dispute_time, provider, reference) VALUES
(1, 'pay_34337e7a-052f-4249-95af-745e641f881c', 665167537863782736, 101, 3, 1, 1000, 1, NULL, '2026-11-28 11:49:45.216', NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, 0, 0, 0, 0, NULL, 'sandbox', ''),
(2, 'pay_5e98ed18-53bd-484f-bb2d-3d3ff8380b1a', 665167535300424598, 103, 3, 1, 1000, 2, NULL, '2026-11-28 11:49:45.231', '2026-11-28 11:49:45.233', '2026-11-28 11:49:45.233', NULL, NULL, NULL, '', NULL, NULL, 0, 0, 0, 0, NULL, 'sandbox', ''),
(3, 'pay_1764af8e-b66c-436c-b5f3-718ba05c5d99', 665167535937240509, 104, 3, 1, 1000, 2, NULL, '2026-11-28 11:49:45.241', '2026-11-28 11:49:45.243', '2026-11-28 11:49:45.243', NULL, NULL, NULL, '', NULL, NULL, 0, 0, 0, 0, NULL, 'sandbox', ''),
(4, 'pay_9543a3ae-7f6b-436a-9744-4609c51b9a91', 665167537833096281, 106, 3, 1, 1000, 5, NULL, '2026-11-28 11:49:45.269', '2026-11-28 11:49:45.271', '2026-11-28 11:49:45.271', '2026-11-28 11:49:45.285', '2026-11-28 11:49:45.291', NULL, '', NULL, '2026-11-28 11:49:45.291', 0, 1000, 0, 0, NULL, 'sandbox', ''),
(5, 'pay_1022b888-3345-4265-be2c-76130eb3355c', 665167538497496793, 401, 1, 2, 1000, 2, NULL, '2026-11-28 11:49:46.527', '2026-11-28 11:49:46.529', '2026-11-28 11:49:46.529', NULL, NULL, NULL, '', NULL, NULL, 0, 0, 0, 0, NULL, 'sandbox', ''),
(6, 'pay_65c95b56-4888-49ae-9b22-f01f2d6246f8', 665167538345016267, 402, 2, 2, 1000, 2, NULL, '2026-11-28 11:49:46.541', '2026-11-28 11:49:46.542', '2026-11-28 11:49:46.542', NULL, NULL, NULL, '', NULL, NULL, 0, 0, 0, 0, NULL, 'sandbox', '');
DELETE FROM tb_place;
INSERT INTO tb_place (voucher_id, position, user_id, state, standing, claimed, missed, turns, create_time, invite_time, deadline, order_id, operation, end_time) VALUES
(4, 1, 211, 4, 0, 0, 0, 2, '2026-11-28 11:49:45.376', '2026-11-28 11:49:45.396', '2099-01-01 00:00:00.000', 665167536880274959, 2, '2026-11-28 11:49:46.457'),
(4, 2, 212, 2, 0, 0, 0, 1, '2026-11-28 11:49:45.381', '2026-11-28 11:49:46.464', '2099-01-01 00:00:00.000', NULL, NULL, NULL),
(4, 3, 213, 1, 0, 0, 0, 0, '2026-11-28 11:49:45.383', NULL, NULL, NULL, NULL, NULL);
DELETE FROM tb_rehearsal;
DELETE FROM tb_request;
INSERT INTO tb_request (caller, request_key, route, body_digest, made, create_time) VALUES
(301, 'tea-please', 'POST /voucher/buy/6', X'44136FA355B3678A1146AD16F7E8649E94FB4FC21FE77E8310C060F61CAAFF8A', '665167539342308532', '2099-01-01 00:00:00.000'),
(9000001, 'archived', 'POST /voucher/seckill', X'AC45C12755E7C019DBFA7A8FA6C4C6C72F0E4A3650511078579ABC83D7E302FB', '2', '2099-01-01 00:00:00.000'),
(9000001, 'ended', 'POST /voucher/seckill', X'FA0E26AF29EE2715D016A3342829A71360792EF3E24035FE7CD11A5A9DF93E8B', '1', '2099-01-01 00:00:00.000'),
(9000001, 'running', 'POST /voucher/seckill', X'EB56F8AE5F66215896E2E8CF3FE3C2FFC544144CBB3D21670492C1E31DEA8990', '3', '2099-01-01 00:00:00.000'),
(9000001, 'sold-out', 'POST /voucher/seckill', X'29F5630A3C13BFD84CD4B5E9E1259D3A2CAB343D75CC3A72BF0A9BF41A5B36F6', '4', '2099-01-01 00:00:00.000'),
(9000001, 'tea', 'POST /voucher', X'906A86D02DE15488E7CCC33B2A449FC0380999A6F9E0124DF2EB607D981FDAE8', '6', '2099-01-01 00:00:00.000'),
(9000001, 'template', 'POST /admin/template', X'1529D30E5A9A1426FEE0936D76FD476D72F8F0DE969CE986DAEC765AFDA513AC', '1', '2099-01-01 00:00:00.000'),
(9000001, 'to-come', 'POST /voucher/seckill', X'62F8F965F5FCE7499B204C3161BF2B2A61C99D6F9B2AC72E430253F18822D21C', '5', '2099-01-01 00:00:00.000');
DELETE FROM tb_sale_minute;
INSERT INTO tb_sale_minute (voucher_id, start_time, run, asked, totals, seconds) VALUES
(1, '2026-11-28 11:49:00.000', 8667301632199965872, 1, '{"accepted":1,"took":[1]}', '{"accepted":{"46":1},"took":{"46":[1]}}'),
(2, '2026-11-28 11:49:00.000', 1128080791488196246, 1, '{"accepted":1,"took":[1]}', '{"accepted":{"46":1},"took":{"46":[1]}}'),
(3, '2026-11-28 11:49:00.000', 2838014563498907949, 6, '{"accepted":6,"took":[0,1,1,1,1,0,1,0,1]}', '{"accepted":{"44":2,"45":4},"took":{"44":[0,0,1,0,0,0,0,0,1],"45":[0,1,0,1,1,0,1]}}'),
(4, '2026-11-28 11:49:00.000', 7193382596153938401, 2, '{"accepted":2,"took":[1,1]}', '{"accepted":{"45":2},"took":{"45":[1,1]}}');
DELETE FROM tb_seckill_voucher;
INSERT INTO tb_seckill_voucher (voucher_id, stock, issued, begin_time, end_time, paused, epoch, first_epoch, sequence, partition_no, retired, last_operation, invite_window, list_open, kept, accepted, called_off) VALUES
(1, 2, 3, '2026-01-01 00:00:00.000', '2026-11-28 11:49:56.000', 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, NULL),
(2, 2, 3, '2026-01-01 00:00:00.000', '2026-11-28 11:49:56.000', 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, NULL),
(3, 31, 35, '2026-01-01 00:00:00.000', '2099-01-01 00:00:00.000', 0, 1, 1, 6, 0, 0, 3, 0, 0, 0, 0, NULL),
(4, 0, 2, '2026-01-01 00:00:00.000', '2099-01-01 00:00:00.000', 0, 1, 1, 2, 0, 0, 3, 604800, 1, 1, 0, NULL),
(5, 5, 5, '2098-01-01 00:00:00.000', '2099-01-01 00:00:00.000', 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, NULL);
DELETE FROM tb_session_void;
DELETE FROM tb_setting;
INSERT INTO tb_setting (name, value, create_time) VALUES
('coupon_key_00', X'F5E94B9545413D199BAD04D2F306A01D830E5616198A6EAD744AD36C4CAD83CA', '2026-11-28 11:49:43.177'),
('currency', X'434E59', '2026-11-28 11:49:43.174'),
('guard_salt_00000', X'8893A223DC02AD3950563802045A0E32CEBFC9503B86D1E55CD8615FC5B49B64', '2026-11-28 11:49:43.237'),
('order_id_key', X'E95BD5070B0B3FB7FB6EA789155E4EF4', '2026-11-28 11:49:43.163');
DELETE FROM tb_unpaid;
DELETE FROM tb_voucher;
INSERT INTO tb_voucher (id, shop_id, title, sub_title, rules, pay_value, actual_value, type, status, version, create_time, update_time, pay_within, redeemable, valid_until, valid_days, per_user, guards, visible_from, archived) VALUES
(1, 2, 'ended', '', '', 1000, 10000, 1, 1, 2, '2026-11-28 11:49:44.742', '2026-11-28 11:49:46.533', 900, 1, NULL, 0, 0, '', NULL, NULL),
(2, 2, 'archived', '', '', 1000, 10000, 1, 1, 3, '2026-11-28 11:49:44.754', '2026-11-28 11:49:56.133', 900, 1, NULL, 0, 0, '', NULL, '2026-11-28 11:49:56.133'),
(3, 1, 'renamed', '一人一份', 'it\'s "one" \\ \'a\' person;', 1000, 10000, 1, 1, 2, '2026-11-28 11:49:44.955', '2026-11-28 11:49:45.193', 900, 1, NULL, 0, 3, '{"limits":{"perUser":{"requests":1000,"seconds":10}},"conditions":{"minAgeDays":7,"dryRun":true},"coolDown":{"expired":2,"minutes":60}}', NULL, NULL),
(4, 2, 'sold-out', '', '', 1000, 10000, 1, 1, 1, '2026-11-28 11:49:45.298', '2026-11-28 11:49:45.298', 900, 1, NULL, 0, 0, '', NULL, NULL),
(5, 2, 'to-come', '', '', 1000, 10000, 1, 1, 1, '2026-11-28 11:49:46.490', '2026-11-28 11:49:46.490', 900, 1, NULL, 0, 0, '{"tickets":{"delayMs":10000,"leadMinutes":30,"expiryMinutes":10},"challenge":{"difficulty":4,"maxDifficulty":16}}', NULL, NULL),
(6, 2, 'tea', '', '', 1000, 1500, 0, 1, 1, '2026-11-28 11:49:46.510', '2026-11-28 11:49:46.510', 900, 1, NULL, 0, 2, '', NULL, NULL);
DELETE FROM tb_voucher_operation;
INSERT INTO tb_voucher_operation (voucher_id, number, kind, delta, order_id, user_id, mode, begin_time, end_time, actor, idempotency_key, state, create_time, settle_time, kept, epoch, sequence) VALUES
(1, 1, 'window', 0, NULL, NULL, 1, '2026-01-01 00:00:00.000', '2026-11-28 11:49:56.000', 'admin 9000001', NULL, 2, '2026-11-28 11:49:46.533', '2026-11-28 11:49:46.536', 0, 0, 0),
(2, 1, 'window', 0, NULL, NULL, 1, '2026-01-01 00:00:00.000', '2026-11-28 11:49:56.000', 'admin 9000001', NULL, 2, '2026-11-28 11:49:46.547', '2026-11-28 11:49:46.549', 0, 0, 0),
(3, 1, 'stock', 5, NULL, NULL, 0, NULL, NULL, 'admin 9000001', 'five-more', 2, '2026-11-28 11:49:45.179', '2026-11-28 11:49:45.190', 0, 0, 0),
(3, 2, 'cancel', 1, 665167533763367129, 105, 0, NULL, NULL, 'owner', NULL, 2, '2026-11-28 11:49:45.256', '2026-11-28 11:49:45.261', 0, 0, 0),
(3, 3, 'refund', 1, 665167537833096281, 106, 0, NULL, NULL, 'payment provider', NULL, 2, '2026-11-28 11:49:45.291', '2026-11-28 11:49:45.295', 0, 0, 0),
(4, 1, 'cancel', 0, 665167534703437724, 201, 0, NULL, NULL, 'owner', NULL, 2, '2026-11-28 11:49:45.385', '2026-11-28 11:49:45.390', 1, 0, 0),
(4, 2, 'accept', 0, 665167536880274959, 211, 0, NULL, NULL, 'owner', NULL, 2, '2026-11-28 11:49:45.415', '2026-11-28 11:49:46.434', -1, 1, 3),
(4, 3, 'cancel', 0, 665167534044088004, 202, 0, NULL, NULL, 'owner', NULL, 2, '2026-11-28 11:49:46.462', '2026-11-28 11:49:46.465', 1, 0, 0);
DELETE FROM tb_voucher_order;
INSERT INTO tb_voucher_order (id, user_id, voucher_id, kind, amount, pay_type, status, reason, detail, create_time, pay_time, redeem_time, cancel_time, refunding_time, refund_time, fail_time, pay_deadline, lapse_time, quantity, revision) VALUES
(665167533763367129, 105, 3, 1, 1000, 0, 4, '', '', '2026-11-28 11:49:45.253', NULL, NULL, '2026-11-28 11:49:45.256', NULL, NULL, NULL, '2099-01-01 00:00:00.000', NULL, 1, 0),
(665167534044088004, 202, 4, 1, 1000, 0, 4, '', '', '2026-11-28 11:49:45.385', NULL, NULL, '2026-11-28 11:49:46.462', NULL, NULL, NULL, '2099-01-01 00:00:00.000', NULL, 1, 0),
(665167534703437724, 201, 4, 1, 1000, 0, 4, '', '', '2026-11-28 11:49:45.371', NULL, NULL, '2026-11-28 11:49:45.385', NULL, NULL, NULL, '2099-01-01 00:00:00.000', NULL, 1, 0),
(665167535300424598, 103, 3, 1, 1000, 1, 2, '', '', '2026-11-28 11:49:45.228', '2026-11-28 11:49:45.233', NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00.000', NULL, 1, 0),
(665167535937240509, 104, 3, 1, 1000, 1, 3, '', '', '2026-11-28 11:49:45.239', '2026-11-28 11:49:45.243', '2026-11-28 11:49:45.247', NULL, NULL, NULL, NULL, '2099-01-01 00:00:00.000', NULL, 1, 0),
(665167536880274959, 211, 4, 1, 1000, 0, 1, '', '', '2026-11-28 11:49:46.434', NULL, NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00.000', NULL, 1, 0),
(665167537557392885, 102, 3, 1, 1000, 0, 1, '', '', '2026-11-28 11:49:45.218', NULL, NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00.000', NULL, 1, 0),
(665167537833096281, 106, 3, 1, 1000, 1, 6, '', '', '2026-11-28 11:49:45.265', '2026-11-28 11:49:45.271', NULL, NULL, '2026-11-28 11:49:45.285', '2026-11-28 11:49:45.291', NULL, '2099-01-01 00:00:00.000', NULL, 1, 0),
(665167537863782736, 101, 3, 1, 1000, 0, 1, '', '', '2026-11-28 11:49:45.204', NULL, NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00.000', NULL, 1, 0),
(665167538345016267, 402, 2, 1, 1000, 1, 2, '', '', '2026-11-28 11:49:46.539', '2026-11-28 11:49:46.542', NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00.000', NULL, 1, 0),
(665167538497496793, 401, 1, 1, 1000, 1, 2, '', '', '2026-11-28 11:49:46.526', '2026-11-28 11:49:46.529', NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00.000', NULL, 1, 0),
(665167539342308532, 301, 6, 0, 1000, 0, 1, '', '', '2026-11-28 11:49:46.521', NULL, NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00.000', NULL, 1, 0);
DELETE FROM tb_voucher_template;
INSERT INTO tb_voucher_template (id, shop_id, name, fields, create_time) VALUES
(1, 1, 'Friday', '{"type":1,"title":"renamed","subTitle":"一人一份","rules":"it\'s \\"one\\" \\\\ \'a\' person;","payValue":1000,"actualValue":10000,"payWithin":900000,"redeemable":true,"perUser":3,"stock":35,"guards":"{\\"limits\\":{\\"perUser\\":{\\"requests\\":1000,\\"seconds\\":10}},\\"conditions\\":{\\"minAgeDays\\":7,\\"dryRun\\":true},\\"coolDown\\":{\\"expired\\":2,\\"minutes\\":60}}","lasts":2303683200000}', '2026-11-28 11:49:45.198');
DELETE FROM tb_waiting_list;
INSERT INTO tb_waiting_list (voucher_id, last_position, open, invited, paused_at, last_operation) VALUES
(4, 3, 1, 1, NULL, 3);
DELETE FROM tb_webhook_dead_letter;
DELETE FROM tb_webhook_endpoint;
INSERT INTO tb_webhook_endpoint (id, shop_id, url, description, types, secret, old_secret, old_secret_until, disabled_time, disabled_why, next_number, replay_next, replay_end, failures, failing_since, retry_time, success_time, last_failure, lease_owner, lease_until, create_time) VALUES
(1, 1, 'http://127.0.0.1:9/hook', '', '', 'whsec_9qbWHo4AmTH2TwTewQSnKlMRtPAMWbQWXH4sKJ40/Mw=', '', NULL, NULL, '', 14, 0, 0, 12, '2026-11-28 11:49:45.258', '2026-11-28 11:49:58.237', NULL, '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}', '', '2026-11-28 11:49:54.592', '2026-11-28 11:49:43.240');
DELETE FROM tb_webhook_event;
INSERT INTO tb_webhook_event (id, number, shop_id, subject, subject_number, type, body, create_time) VALUES
(1, 1, 1, 'order-665167537863782736', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:45.204Z","subject":{"kind":"order","id":"665167537863782736"},"number":1,"data":{"id":"665167537863782736","shopId":1,"voucherId":3,"userId":101,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:45.204Z","payBefore":"2026-11-28T12:04:45.204Z"}}', '2026-11-28 11:49:45.204'),
(2, 2, 1, 'order-665167537557392885', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:45.218Z","subject":{"kind":"order","id":"665167537557392885"},"number":1,"data":{"id":"665167537557392885","shopId":1,"voucherId":3,"userId":102,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:45.218Z","payBefore":"2026-11-28T12:04:45.218Z"}}', '2026-11-28 11:49:45.218'),
(3, 3, 1, 'order-665167535300424598', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:45.228Z","subject":{"kind":"order","id":"665167535300424598"},"number":1,"data":{"id":"665167535300424598","shopId":1,"voucherId":3,"userId":103,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:45.228Z","payBefore":"2026-11-28T12:04:45.228Z"}}', '2026-11-28 11:49:45.228'),
(4, 4, 1, 'order-665167535300424598', 2, 'order.paid', '{"version":1,"type":"order.paid","timestamp":"2026-11-28T11:49:45.233Z","subject":{"kind":"order","id":"665167535300424598"},"number":2,"data":{"id":"665167535300424598","shopId":1,"voucherId":3,"userId":103,"quantity":1,"amount":1000,"currency":"CNY","status":"paid","createTime":"2026-11-28T11:49:45.228Z","payBefore":"2026-11-28T12:04:45.228Z","payTime":"2026-11-28T11:49:45.233Z"}}', '2026-11-28 11:49:45.233'),
(5, 5, 1, 'order-665167535937240509', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:45.239Z","subject":{"kind":"order","id":"665167535937240509"},"number":1,"data":{"id":"665167535937240509","shopId":1,"voucherId":3,"userId":104,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:45.239Z","payBefore":"2026-11-28T12:04:45.239Z"}}', '2026-11-28 11:49:45.239'),
(6, 6, 1, 'order-665167535937240509', 2, 'order.paid', '{"version":1,"type":"order.paid","timestamp":"2026-11-28T11:49:45.243Z","subject":{"kind":"order","id":"665167535937240509"},"number":2,"data":{"id":"665167535937240509","shopId":1,"voucherId":3,"userId":104,"quantity":1,"amount":1000,"currency":"CNY","status":"paid","createTime":"2026-11-28T11:49:45.239Z","payBefore":"2026-11-28T12:04:45.239Z","payTime":"2026-11-28T11:49:45.243Z"}}', '2026-11-28 11:49:45.243'),
(7, 7, 1, 'order-665167535937240509', 3, 'order.redeemed', '{"version":1,"type":"order.redeemed","timestamp":"2026-11-28T11:49:45.247Z","subject":{"kind":"order","id":"665167535937240509"},"number":3,"data":{"id":"665167535937240509","shopId":1,"voucherId":3,"userId":104,"quantity":1,"amount":1000,"currency":"CNY","status":"redeemed","createTime":"2026-11-28T11:49:45.239Z","payBefore":"2026-11-28T12:04:45.239Z","payTime":"2026-11-28T11:49:45.243Z","redeemTime":"2026-11-28T11:49:45.247Z"}}', '2026-11-28 11:49:45.247'),
(8, 8, 1, 'order-665167533763367129', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:45.253Z","subject":{"kind":"order","id":"665167533763367129"},"number":1,"data":{"id":"665167533763367129","shopId":1,"voucherId":3,"userId":105,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:45.253Z","payBefore":"2026-11-28T12:04:45.253Z"}}', '2026-11-28 11:49:45.253'),
(9, 9, 1, 'order-665167533763367129', 2, 'order.cancelled', '{"version":1,"type":"order.cancelled","timestamp":"2026-11-28T11:49:45.256Z","subject":{"kind":"order","id":"665167533763367129"},"number":2,"data":{"id":"665167533763367129","shopId":1,"voucherId":3,"userId":105,"quantity":1,"amount":1000,"currency":"CNY","status":"cancelled","createTime":"2026-11-28T11:49:45.253Z","payBefore":"2026-11-28T12:04:45.253Z","cancelTime":"2026-11-28T11:49:45.256Z"}}', '2026-11-28 11:49:45.256'),
(10, 10, 1, 'order-665167537833096281', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:45.265Z","subject":{"kind":"order","id":"665167537833096281"},"number":1,"data":{"id":"665167537833096281","shopId":1,"voucherId":3,"userId":106,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:45.265Z","payBefore":"2026-11-28T12:04:45.265Z"}}', '2026-11-28 11:49:45.265'),
(11, 11, 1, 'order-665167537833096281', 2, 'order.paid', '{"version":1,"type":"order.paid","timestamp":"2026-11-28T11:49:45.271Z","subject":{"kind":"order","id":"665167537833096281"},"number":2,"data":{"id":"665167537833096281","shopId":1,"voucherId":3,"userId":106,"quantity":1,"amount":1000,"currency":"CNY","status":"paid","createTime":"2026-11-28T11:49:45.265Z","payBefore":"2026-11-28T12:04:45.265Z","payTime":"2026-11-28T11:49:45.271Z"}}', '2026-11-28 11:49:45.271'),
(12, 12, 1, 'order-665167537833096281', 3, 'order.refunding', '{"version":1,"type":"order.refunding","timestamp":"2026-11-28T11:49:45.285Z","subject":{"kind":"order","id":"665167537833096281"},"number":3,"data":{"id":"665167537833096281","shopId":1,"voucherId":3,"userId":106,"quantity":1,"amount":1000,"currency":"CNY","status":"refunding","createTime":"2026-11-28T11:49:45.265Z","payBefore":"2026-11-28T12:04:45.265Z","payTime":"2026-11-28T11:49:45.271Z","refundingTime":"2026-11-28T11:49:45.285Z"}}', '2026-11-28 11:49:45.285'),
(13, 13, 1, 'order-665167537833096281', 4, 'order.refunded', '{"version":1,"type":"order.refunded","timestamp":"2026-11-28T11:49:45.291Z","subject":{"kind":"order","id":"665167537833096281"},"number":4,"data":{"id":"665167537833096281","shopId":1,"voucherId":3,"userId":106,"quantity":1,"amount":1000,"currency":"CNY","status":"refunded","why":"the money has gone back","whyCode":"MONEY_BACK","createTime":"2026-11-28T11:49:45.265Z","payBefore":"2026-11-28T12:04:45.265Z","payTime":"2026-11-28T11:49:45.271Z","refundingTime":"2026-11-28T11:49:45.285Z","refundTime":"2026-11-28T11:49:45.291Z"}}', '2026-11-28 11:49:45.291');
DELETE FROM tb_webhook_retry;
INSERT INTO tb_webhook_retry (endpoint_id, subject, number, attempts, due_time, failure) VALUES
(1, 'order-665167533763367129', 8, 1, '2026-11-28 11:49:58.237', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}'),
(1, 'order-665167535300424598', 3, 2, '2026-11-28 11:50:19.593', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}'),
(1, 'order-665167535937240509', 5, 1, '2026-11-28 11:49:54.496', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}'),
(1, 'order-665167537557392885', 2, 2, '2026-11-28 11:50:17.434', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}'),
(1, 'order-665167537833096281', 10, 2, '2026-11-28 11:50:16.846', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}'),
(1, 'order-665167537863782736', 1, 2, '2026-11-28 11:50:15.772', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}');
DELETE FROM tb_webhook_sequence;
INSERT INTO tb_webhook_sequence (id, number) VALUES
(1, 13);
