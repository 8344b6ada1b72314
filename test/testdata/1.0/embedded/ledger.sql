DELETE FROM tb_account;
DELETE FROM tb_audit;
INSERT INTO tb_audit (id, voucher_id, admin_id, request_id, shop_id, action, changes, delta, operation, create_time) VALUES
(1, 1, 0, '', 1, 'create', '[{"field":"shopId","from":"","to":"1"},{"field":"title","from":"","to":"100 for 10"},{"field":"subTitle","from":"","to":"Demonstration sale"},{"field":"rules","from":"","to":"One to a person. Made at the first start, to try the service with."},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"100"},{"field":"beginTime","from":"","to":"2026-11-28T11:49:42.586Z"},{"field":"endTime","from":"","to":"2027-11-28T11:49:42.586Z"},{"field":"paused","from":"","to":"false"}]', 0, 0, '2026-11-28 11:49:42.601+00:00'),
(2, 0, 9000001, 'e7f3bbc0-9db3-41bc-b95c-f4cb06691fd4', 1, 'create', '[{"field":"webhook","from":"","to":"1"},{"field":"shopId","from":"0","to":"1"},{"field":"url","from":"","to":"http://127.0.0.1:9/hook"}]', 0, 0, '2026-11-28 11:49:42.606+00:00'),
(3, 2, 0, '', 1, 'create', '[{"field":"shopId","from":"","to":"1"},{"field":"title","from":"","to":"50 for 1"},{"field":"subTitle","from":"","to":"Demonstration of a countdown"},{"field":"rules","from":"","to":"One to a person. The button opens by the service''s clock."},{"field":"payValue","from":"","to":"100"},{"field":"actualValue","from":"","to":"5000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"100"},{"field":"beginTime","from":"","to":"2026-11-28T11:51:42.586Z"},{"field":"endTime","from":"","to":"2027-11-28T11:49:42.586Z"},{"field":"paused","from":"","to":"false"}]', 0, 0, '2026-11-28 11:49:42.622+00:00'),
(4, 3, 0, '', 1, 'create', '[{"field":"shopId","from":"","to":"1"},{"field":"title","from":"","to":"50 for 45"},{"field":"subTitle","from":"","to":"Ordinary coupon, always there"},{"field":"rules","from":"","to":"As many as you like, for as long as it is shown."},{"field":"payValue","from":"","to":"4500"},{"field":"actualValue","from":"","to":"5000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"status","from":"","to":"1"}]', 0, 0, '2026-11-28 11:49:42.81+00:00'),
(5, 4, 9000001, 'ef1b8401-3e0b-4f1d-b745-fe5347159fbe', 2, 'create', '[{"field":"shopId","from":"","to":"2"},{"field":"title","from":"","to":"ended"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"3"},{"field":"beginTime","from":"","to":"2026-01-01T00:00:00.000Z"},{"field":"endTime","from":"","to":"2099-01-01T00:00:00.000Z"},{"field":"paused","from":"","to":"false"}]', 0, 0, '2026-11-28 11:49:44.103+00:00'),
(6, 5, 9000001, '09f06050-34e5-4621-9535-88a9b2826c70', 2, 'create', '[{"field":"shopId","from":"","to":"2"},{"field":"title","from":"","to":"archived"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"3"},{"field":"beginTime","from":"","to":"2026-01-01T00:00:00.000Z"},{"field":"endTime","from":"","to":"2099-01-01T00:00:00.000Z"},{"field":"paused","from":"","to":"false"}]', 0, 0, '2026-11-28 11:49:44.111+00:00'),
(7, 6, 9000001, '8ef95dd4-b06b-44c1-81a4-4000b2686921', 1, 'create', '[{"field":"shopId","from":"","to":"1"},{"field":"title","from":"","to":"running"},{"field":"subTitle","from":"","to":"一人一份"},{"field":"rules","from":"","to":"it''s \"one\" \\ ''a'' person;"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"perUser","from":"","to":"3"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"30"},{"field":"beginTime","from":"","to":"2026-01-01T00:00:00.000Z"},{"field":"endTime","from":"","to":"2099-01-01T00:00:00.000Z"},{"field":"paused","from":"","to":"false"},{"field":"guards","from":"","to":"{\"limits\":{\"perUser\":{\"requests\":1000,\"seconds\":10}},\"conditions\":{\"minAgeDays\":7,\"dryRun\":true},\"coolDown\":{\"expired\":2,\"minutes\":60}}"}]', 0, 0, '2026-11-28 11:49:44.312+00:00'),
(8, 6, 9000001, '2d9bea64-fefb-4b58-b546-a4900e55bd60', 1, 'stock', '[]', 5, 1, '2026-11-28 11:49:44.518+00:00'),
(9, 6, 9000001, '3fa5ac4b-5a81-42c9-9341-bc3e03055106', 1, 'change', '[{"field":"title","from":"running","to":"renamed"}]', 0, 0, '2026-11-28 11:49:44.526+00:00'),
(10, 6, 9000001, '3d20e0ca-f44a-4725-958f-c760bc2091d8', 1, 'create', '[{"field":"template","from":"","to":"Friday"}]', 0, 0, '2026-11-28 11:49:44.528+00:00'),
(11, 7, 9000001, 'e39a9515-d413-4c7d-bb4d-dd22050b6b77', 2, 'create', '[{"field":"shopId","from":"","to":"2"},{"field":"title","from":"","to":"sold-out"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"2"},{"field":"beginTime","from":"","to":"2026-01-01T00:00:00.000Z"},{"field":"endTime","from":"","to":"2099-01-01T00:00:00.000Z"},{"field":"paused","from":"","to":"false"},{"field":"waitlistWindowSeconds","from":"","to":"604800"}]', 0, 0, '2026-11-28 11:49:44.67+00:00'),
(12, 8, 9000001, 'bbbafee6-931a-4ff2-a176-c7c2086ffcc7', 2, 'create', '[{"field":"shopId","from":"","to":"2"},{"field":"title","from":"","to":"to-come"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"5"},{"field":"beginTime","from":"","to":"2098-01-01T00:00:00.000Z"},{"field":"endTime","from":"","to":"2099-01-01T00:00:00.000Z"},{"field":"paused","from":"","to":"false"},{"field":"guards","from":"","to":"{\"tickets\":{\"delayMs\":10000,\"leadMinutes\":30,\"expiryMinutes\":10},\"challenge\":{\"difficulty\":4,\"maxDifficulty\":16}}"}]', 0, 0, '2026-11-28 11:49:45.822+00:00'),
(13, 9, 9000001, 'f1c77749-53cb-411c-a78c-90781311c480', 2, 'create', '[{"field":"shopId","from":"","to":"2"},{"field":"title","from":"","to":"tea"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"1500"},{"field":"payWithinSeconds","from":"","to":"900"},{"field":"redeemable","from":"","to":"true"},{"field":"perUser","from":"","to":"2"},{"field":"status","from":"","to":"1"}]', 0, 0, '2026-11-28 11:49:45.836+00:00'),
(14, 4, 9000001, 'c683e85d-ad6b-4a74-8ed8-a80787a906d3', 2, 'change', '[{"field":"endTime","from":"2099-01-01T00:00:00.000Z","to":"2026-11-28T11:49:55.000Z"}]', 0, 0, '2026-11-28 11:49:45.874+00:00'),
(15, 5, 9000001, 'ff96b325-0210-4854-891b-7a4a396be30b', 2, 'change', '[{"field":"endTime","from":"2099-01-01T00:00:00.000Z","to":"2026-11-28T11:49:55.000Z"}]', 0, 0, '2026-11-28 11:49:45.905+00:00'),
(16, 5, 9000001, '0a6db0c5-f7cc-4cbc-92bb-06fcb59ccd7f', 2, 'archive', '[{"field":"archiveTime","from":"","to":"2026-11-28T11:49:55.089Z"}]', 0, 0, '2026-11-28 11:49:55.089+00:00');
DELETE FROM tb_coupon;
INSERT INTO tb_coupon (order_id, code, voucher_id, shop_id, valid_until, due_time, reservation, reserved_by, reserve_key, reserved_until, ended_requests, redeemed_by, redeem_key, create_time) VALUES
(665167530089619141, '09H06Y2NEFZNWNDM', 6, 1, NULL, NULL, NULL, NULL, NULL, NULL, '', 9, 'redeem-665167530089619141', '2026-11-28 11:49:44.587+00:00'),
(665167533215873275, '0FYH1H7ZECRYS6D3', 6, 1, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, '2026-11-28 11:49:44.546+00:00'),
(665167533266766927, '0FJ7H4FEZG037W1C', 6, 1, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, '2026-11-28 11:49:44.654+00:00'),
(665167534442146508, '0G2GE0R534ME8038', 5, 2, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, '2026-11-28 11:49:45.901+00:00'),
(665167536607933169, '0AV1PKPNQS6XKB47', 4, 2, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, '2026-11-28 11:49:45.87+00:00');
DELETE FROM tb_fence;
INSERT INTO tb_fence (name, token) VALUES
('expirer', 1795866582586712),
('keys', 1795866582587969),
('lapser', 1795866582575759);
DELETE FROM tb_format;
INSERT INTO tb_format (id, format, ledger) VALUES
(1, '0.9', '6c46324a712c0344');
DELETE FROM tb_issuer;
DELETE FROM tb_limited_buyer;
INSERT INTO tb_limited_buyer (voucher_id, user_id, writes) VALUES
(9, 301, 1);
DELETE FROM tb_order_event;
INSERT INTO tb_order_event (id, order_id, status, actor, why, create_time) VALUES
(1, 665167533215873275, 2, 'payment provider', '', '2026-11-28 11:49:44.546+00:00'),
(2, 665167530089619141, 2, 'payment provider', '', '2026-11-28 11:49:44.587+00:00'),
(3, 665167530089619141, 3, 'till 9', '', '2026-11-28 11:49:44.608+00:00'),
(4, 665167532265589803, 4, 'owner', '', '2026-11-28 11:49:44.632+00:00'),
(5, 665167533266766927, 2, 'payment provider', '', '2026-11-28 11:49:44.654+00:00'),
(6, 665167533266766927, 5, 'owner', '', '2026-11-28 11:49:44.655+00:00'),
(7, 665167533266766927, 6, 'payment provider', 'MONEY_BACK', '2026-11-28 11:49:44.657+00:00'),
(8, 665167532367412040, 4, 'owner', '', '2026-11-28 11:49:44.753+00:00'),
(9, 665167531607910241, 1, 'waiting list', 'INVITATION_ACCEPTED', '2026-11-28 11:49:45.787+00:00'),
(10, 665167533382962128, 4, 'owner', '', '2026-11-28 11:49:45.802+00:00'),
(11, 665167536607933169, 2, 'payment provider', '', '2026-11-28 11:49:45.87+00:00'),
(12, 665167534442146508, 2, 'payment provider', '', '2026-11-28 11:49:45.901+00:00');
DELETE FROM tb_payment;
INSERT INTO tb_payment (number, id, order_id, user_id, voucher_id, shop_id, amount, state, operation, create_time, receive_time, accept_time, refunding_time, refund_time, stuck_time, refusal, close_time, return_time, gone_before, returned, dispute, disputed, dispute_time, provider, reference) VALUES
(1, 'pay_7203a354-6549-41ce-90a6-e7ea339d4e5b', 665167530857287754, 101, 6, 1, 1000, 1, NULL, '2026-11-28 11:49:44.537+00:00', NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, 0, 0, 0, 0, NULL, 'sandbox', ''),
(2, 'pay_1d5abc62-2df6-477f-9bf7-c3e2a32c8103', 665167533215873275, 103, 6, 1, 1000, 2, NULL, '2026-11-28 11:49:44.544+00:00', '2026-11-28 11:49:44.546+00:00', '2026-11-28 11:49:44.546+00:00', NULL, NULL, NULL, '', NULL, NULL, 0, 0, 0, 0, NULL, 'sandbox', ''),
(3, 'pay_be06ead3-389c-4b9d-97bd-9294f4cf2f3a', 665167530089619141, 104, 6, 1, 1000, 2, NULL, '2026-11-28 11:49:44.579+00:00', '2026-11-28 11:49:44.587+00:00', '2026-11-28 11:49:44.587+00:00', NULL, NULL, NULL, '', NULL, NULL, 0, 0, 0, 0, NULL, 'sandbox', ''),
(4, 'pay_83d43e4c-5a03-4179-93b7-b54e6b28f008', 665167533266766927, 106, 6, 1, 1000, 5, NULL, '2026-11-28 11:49:44.652+00:00', '2026-11-28 11:49:44.654+00:00', '2026-11-28 11:49:44.654+00:00', '2026-11-28 11:49:44.655+00:00', '2026-11-28 11:49:44.657+00:00', NULL, '', NULL, '2026-11-28 11:49:44.657+00:00', 0, 1000, 0, 0, NULL, 'sandbox', ''),
(5, 'pay_79255ff3-2bfb-4ee4-b10e-b0cda1f3ecc5', 665167536607933169, 401, 4, 2, 1000, 2, NULL, '2026-11-28 11:49:45.864+00:00', '2026-11-28 11:49:45.87+00:00', '2026-11-28 11:49:45.87+00:00', NULL, NULL, NULL, '', NULL, NULL, 0, 0, 0, 0, NULL, 'sandbox', ''),
(6, 'pay_75232db8-f42a-47d8-a4c1-059ad684b86c', 665167534442146508, 402, 5, 2, 1000, 2, NULL, '2026-11-28 11:49:45.893+00:00', '2026-11-28 11:49:45.901+00:00', '2026-11-28 11:49:45.901+00:00', NULL, NULL, NULL, '', NULL, NULL, 0, 0, 0, 0, NULL, 'sandbox', '');
DELETE FROM tb_place;
INSERT INTO tb_place (voucher_id, position, user_id, state, standing, claimed, missed, turns, create_time, invite_time, deadline, order_id, operation, end_time) VALUES
(7, 1, 211, 4, 0, 0, 0, 2, '2026-11-28 11:49:44.731+00:00', '2026-11-28 11:49:44.756+00:00', '2099-01-01 00:00:00+00:00', 665167531607910241, 2, '2026-11-28 11:49:45.791+00:00'),
(7, 2, 212, 2, 0, 0, 0, 1, '2026-11-28 11:49:44.738+00:00', '2026-11-28 11:49:45.807+00:00', '2099-01-01 00:00:00+00:00', NULL, NULL, NULL),
(7, 3, 213, 1, 0, 0, 0, 0, '2026-11-28 11:49:44.745+00:00', NULL, NULL, NULL, NULL, NULL);
DELETE FROM tb_rehearsal;
DELETE FROM tb_request;
INSERT INTO tb_request (caller, request_key, route, body_digest, made, create_time) VALUES
(301, 'tea-please', 'POST /voucher/buy/9', X'44136FA355B3678A1146AD16F7E8649E94FB4FC21FE77E8310C060F61CAAFF8A', '665167535257488562', '2099-01-01 00:00:00+00:00'),
(9000001, 'archived', 'POST /voucher/seckill', X'AC45C12755E7C019DBFA7A8FA6C4C6C72F0E4A3650511078579ABC83D7E302FB', '5', '2099-01-01 00:00:00+00:00'),
(9000001, 'ended', 'POST /voucher/seckill', X'FA0E26AF29EE2715D016A3342829A71360792EF3E24035FE7CD11A5A9DF93E8B', '4', '2099-01-01 00:00:00+00:00'),
(9000001, 'running', 'POST /voucher/seckill', X'EB56F8AE5F66215896E2E8CF3FE3C2FFC544144CBB3D21670492C1E31DEA8990', '6', '2099-01-01 00:00:00+00:00'),
(9000001, 'sold-out', 'POST /voucher/seckill', X'29F5630A3C13BFD84CD4B5E9E1259D3A2CAB343D75CC3A72BF0A9BF41A5B36F6', '7', '2099-01-01 00:00:00+00:00'),
(9000001, 'tea', 'POST /voucher', X'906A86D02DE15488E7CCC33B2A449FC0380999A6F9E0124DF2EB607D981FDAE8', '9', '2099-01-01 00:00:00+00:00'),
(9000001, 'template', 'POST /admin/template', X'524A5AEFA9DABAD50C84CE958B43D6F94BE7B53E509D21C1BEA490516561D66F', '1', '2099-01-01 00:00:00+00:00'),
(9000001, 'to-come', 'POST /voucher/seckill', X'62F8F965F5FCE7499B204C3161BF2B2A61C99D6F9B2AC72E430253F18822D21C', '8', '2099-01-01 00:00:00+00:00');
DELETE FROM tb_sale_minute;
INSERT INTO tb_sale_minute (voucher_id, start_time, run, asked, totals, seconds) VALUES
(4, '2026-11-28 11:49:00+00:00', 1668306862164471446, 1, '{"accepted":1,"took":[0,0,0,1]}', '{"accepted":{"46":1},"took":{"46":[0,0,0,1]}}'),
(5, '2026-11-28 11:49:00+00:00', 8705630378310273550, 1, '{"accepted":1,"took":[0,0,0,1]}', '{"accepted":{"46":1},"took":{"46":[0,0,0,1]}}'),
(6, '2026-11-28 11:49:00+00:00', 4853426288307647976, 6, '{"accepted":6,"took":[0,0,0,2,3,0,0,0,0,1]}', '{"accepted":{"44":4,"45":2},"took":{"44":[0,0,0,0,3,0,0,0,0,1],"45":[0,0,0,2]}}'),
(7, '2026-11-28 11:49:00+00:00', 1777260609945483625, 2, '{"accepted":2,"took":[0,0,0,1,1]}', '{"accepted":{"45":2},"took":{"45":[0,0,0,1,1]}}');
DELETE FROM tb_seckill_voucher;
INSERT INTO tb_seckill_voucher (voucher_id, stock, issued, begin_time, end_time, paused, epoch, first_epoch, sequence, partition_no, retired, last_operation, invite_window, list_open, kept, accepted, called_off) VALUES
(1, 100, 100, '2026-11-28 11:49:42.586+00:00', '2027-11-28 11:49:42.586+00:00', 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, NULL),
(2, 100, 100, '2026-11-28 11:51:42.586+00:00', '2027-11-28 11:49:42.586+00:00', 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, NULL),
(4, 2, 3, '2026-01-01 00:00:00+00:00', '2026-11-28 11:49:55+00:00', 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, NULL),
(5, 2, 3, '2026-01-01 00:00:00+00:00', '2026-11-28 11:49:55+00:00', 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, NULL),
(6, 31, 35, '2026-01-01 00:00:00+00:00', '2099-01-01 00:00:00+00:00', 0, 1, 1, 6, 0, 0, 3, 0, 0, 0, 0, NULL),
(7, 0, 2, '2026-01-01 00:00:00+00:00', '2099-01-01 00:00:00+00:00', 0, 1, 1, 2, 0, 0, 3, 604800, 1, 1, 0, NULL),
(8, 5, 5, '2098-01-01 00:00:00+00:00', '2099-01-01 00:00:00+00:00', 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, NULL);
DELETE FROM tb_session_void;
DELETE FROM tb_setting;
INSERT INTO tb_setting (name, value, create_time) VALUES
('coupon_key_00', X'FC43FDB90295D7D6BFCE89E23900A3E84620BB0AD9FE1AED065CAC8124356A95', '2026-11-28 11:49:42.543+00:00'),
('currency', X'434E59', '2026-11-28 11:49:42.534+00:00'),
('guard_salt_00000', X'D7557CCD87711EC5BC759C1CC9EBF7A8DE1DE2F963FA2898AADEE3C65C0F931F', '2026-11-28 11:49:42.594+00:00'),
('order_id_key', X'85514CC69E79A0C7600CF1F6311C9918', '2026-11-28 11:49:42.531+00:00');
DELETE FROM tb_unpaid;
DELETE FROM tb_voucher;
INSERT INTO tb_voucher (id, shop_id, title, sub_title, rules, pay_value, actual_value, type, status, version, create_time, update_time, pay_within, redeemable, valid_until, valid_days, per_user, guards, visible_from, archived) VALUES
(1, 1, '100 for 10', 'Demonstration sale', 'One to a person. Made at the first start, to try the service with.', 1000, 10000, 1, 1, 1, '2026-11-28 11:49:42.601+00:00', '2026-11-28 11:49:42.601+00:00', 900, 1, NULL, 0, 0, '', NULL, NULL),
(2, 1, '50 for 1', 'Demonstration of a countdown', 'One to a person. The button opens by the service''s clock.', 100, 5000, 1, 1, 1, '2026-11-28 11:49:42.622+00:00', '2026-11-28 11:49:42.622+00:00', 900, 0, NULL, 0, 0, '', NULL, NULL),
(3, 1, '50 for 45', 'Ordinary coupon, always there', 'As many as you like, for as long as it is shown.', 4500, 5000, 0, 1, 1, '2026-11-28 11:49:42.81+00:00', '2026-11-28 11:49:42.81+00:00', 900, 0, NULL, 0, 0, '', NULL, NULL),
(4, 2, 'ended', '', '', 1000, 10000, 1, 1, 2, '2026-11-28 11:49:44.103+00:00', '2026-11-28 11:49:45.874+00:00', 900, 1, NULL, 0, 0, '', NULL, NULL),
(5, 2, 'archived', '', '', 1000, 10000, 1, 1, 3, '2026-11-28 11:49:44.111+00:00', '2026-11-28 11:49:55.089+00:00', 900, 1, NULL, 0, 0, '', NULL, '2026-11-28 11:49:55.089+00:00'),
(6, 1, 'renamed', '一人一份', 'it''s "one" \ ''a'' person;', 1000, 10000, 1, 1, 2, '2026-11-28 11:49:44.312+00:00', '2026-11-28 11:49:44.526+00:00', 900, 1, NULL, 0, 3, '{"limits":{"perUser":{"requests":1000,"seconds":10}},"conditions":{"minAgeDays":7,"dryRun":true},"coolDown":{"expired":2,"minutes":60}}', NULL, NULL),
(7, 2, 'sold-out', '', '', 1000, 10000, 1, 1, 1, '2026-11-28 11:49:44.67+00:00', '2026-11-28 11:49:44.67+00:00', 900, 1, NULL, 0, 0, '', NULL, NULL),
(8, 2, 'to-come', '', '', 1000, 10000, 1, 1, 1, '2026-11-28 11:49:45.822+00:00', '2026-11-28 11:49:45.822+00:00', 900, 1, NULL, 0, 0, '{"tickets":{"delayMs":10000,"leadMinutes":30,"expiryMinutes":10},"challenge":{"difficulty":4,"maxDifficulty":16}}', NULL, NULL),
(9, 2, 'tea', '', '', 1000, 1500, 0, 1, 1, '2026-11-28 11:49:45.836+00:00', '2026-11-28 11:49:45.836+00:00', 900, 1, NULL, 0, 2, '', NULL, NULL);
DELETE FROM tb_voucher_operation;
INSERT INTO tb_voucher_operation (voucher_id, number, kind, delta, order_id, user_id, mode, begin_time, end_time, actor, idempotency_key, state, create_time, settle_time, kept, epoch, sequence) VALUES
(4, 1, 'window', 0, NULL, NULL, 1, '2026-01-01 00:00:00+00:00', '2026-11-28 11:49:55+00:00', 'admin 9000001', NULL, 2, '2026-11-28 11:49:45.874+00:00', '2026-11-28 11:49:45.876+00:00', 0, 0, 0),
(5, 1, 'window', 0, NULL, NULL, 1, '2026-01-01 00:00:00+00:00', '2026-11-28 11:49:55+00:00', 'admin 9000001', NULL, 2, '2026-11-28 11:49:45.905+00:00', '2026-11-28 11:49:45.909+00:00', 0, 0, 0),
(6, 1, 'stock', 5, NULL, NULL, 0, NULL, NULL, 'admin 9000001', 'five-more', 2, '2026-11-28 11:49:44.518+00:00', '2026-11-28 11:49:44.525+00:00', 0, 0, 0),
(6, 2, 'cancel', 1, 665167532265589803, 105, 0, NULL, NULL, 'owner', NULL, 2, '2026-11-28 11:49:44.632+00:00', '2026-11-28 11:49:44.64+00:00', 0, 0, 0),
(6, 3, 'refund', 1, 665167533266766927, 106, 0, NULL, NULL, 'payment provider', NULL, 2, '2026-11-28 11:49:44.657+00:00', '2026-11-28 11:49:44.663+00:00', 0, 0, 0),
(7, 1, 'cancel', 0, 665167532367412040, 201, 0, NULL, NULL, 'owner', NULL, 2, '2026-11-28 11:49:44.753+00:00', '2026-11-28 11:49:44.762+00:00', 1, 0, 0),
(7, 2, 'accept', 0, 665167531607910241, 211, 0, NULL, NULL, 'owner', NULL, 2, '2026-11-28 11:49:44.77+00:00', '2026-11-28 11:49:45.787+00:00', -1, 1, 3),
(7, 3, 'cancel', 0, 665167533382962128, 202, 0, NULL, NULL, 'owner', NULL, 2, '2026-11-28 11:49:45.802+00:00', '2026-11-28 11:49:45.809+00:00', 1, 0, 0);
DELETE FROM tb_voucher_order;
INSERT INTO tb_voucher_order (id, user_id, voucher_id, kind, amount, pay_type, status, reason, detail, create_time, pay_time, redeem_time, cancel_time, refunding_time, refund_time, fail_time, pay_deadline, lapse_time, quantity, revision) VALUES
(665167530089619141, 104, 6, 1, 1000, 1, 3, '', '', '2026-11-28 11:49:44.553+00:00', '2026-11-28 11:49:44.587+00:00', '2026-11-28 11:49:44.608+00:00', NULL, NULL, NULL, NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0),
(665167530857287754, 101, 6, 1, 1000, 0, 1, '', '', '2026-11-28 11:49:44.535+00:00', NULL, NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0),
(665167531607910241, 211, 7, 1, 1000, 0, 1, '', '', '2026-11-28 11:49:45.787+00:00', NULL, NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0),
(665167532265589803, 105, 6, 1, 1000, 0, 4, '', '', '2026-11-28 11:49:44.622+00:00', NULL, NULL, '2026-11-28 11:49:44.632+00:00', NULL, NULL, NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0),
(665167532367412040, 201, 7, 1, 1000, 0, 4, '', '', '2026-11-28 11:49:44.724+00:00', NULL, NULL, '2026-11-28 11:49:44.753+00:00', NULL, NULL, NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0),
(665167532614402106, 102, 6, 1, 1000, 0, 1, '', '', '2026-11-28 11:49:44.54+00:00', NULL, NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0),
(665167533215873275, 103, 6, 1, 1000, 1, 2, '', '', '2026-11-28 11:49:44.543+00:00', '2026-11-28 11:49:44.546+00:00', NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0),
(665167533266766927, 106, 6, 1, 1000, 1, 6, '', '', '2026-11-28 11:49:44.651+00:00', '2026-11-28 11:49:44.654+00:00', NULL, NULL, '2026-11-28 11:49:44.655+00:00', '2026-11-28 11:49:44.657+00:00', NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0),
(665167533382962128, 202, 7, 1, 1000, 0, 4, '', '', '2026-11-28 11:49:44.727+00:00', NULL, NULL, '2026-11-28 11:49:45.802+00:00', NULL, NULL, NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0),
(665167534442146508, 402, 5, 1, 1000, 1, 2, '', '', '2026-11-28 11:49:45.887+00:00', '2026-11-28 11:49:45.901+00:00', NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0),
(665167535257488562, 301, 9, 0, 1000, 0, 1, '', '', '2026-11-28 11:49:45.84+00:00', NULL, NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0),
(665167536607933169, 401, 4, 1, 1000, 1, 2, '', '', '2026-11-28 11:49:45.854+00:00', '2026-11-28 11:49:45.87+00:00', NULL, NULL, NULL, NULL, NULL, '2099-01-01 00:00:00+00:00', NULL, 1, 0);
DELETE FROM tb_voucher_template;
INSERT INTO tb_voucher_template (id, shop_id, name, fields, create_time) VALUES
(1, 1, 'Friday', '{"type":1,"title":"renamed","subTitle":"一人一份","rules":"it''s \"one\" \\ ''a'' person;","payValue":1000,"actualValue":10000,"payWithin":900000,"redeemable":true,"perUser":3,"stock":35,"guards":"{\"limits\":{\"perUser\":{\"requests\":1000,\"seconds\":10}},\"conditions\":{\"minAgeDays\":7,\"dryRun\":true},\"coolDown\":{\"expired\":2,\"minutes\":60}}","lasts":2303683200000}', '2026-11-28 11:49:44.528+00:00');
DELETE FROM tb_waiting_list;
INSERT INTO tb_waiting_list (voucher_id, last_position, open, invited, paused_at, last_operation) VALUES
(7, 3, 1, 1, NULL, 3);
DELETE FROM tb_webhook_dead_letter;
DELETE FROM tb_webhook_endpoint;
INSERT INTO tb_webhook_endpoint (id, shop_id, url, description, types, secret, old_secret, old_secret_until, disabled_time, disabled_why, next_number, replay_next, replay_end, failures, failing_since, retry_time, success_time, last_failure, lease_owner, lease_until, create_time) VALUES
(1, 1, 'http://127.0.0.1:9/hook', '', '', 'whsec_+bbaosB645W7PC4CLQra0eqb0aWOOxrgpRKZRJ0PvG4=', '', NULL, NULL, '', 14, 0, 0, 12, '2026-11-28 11:49:44.618465888+00:00', '2026-11-28 11:49:57.546890683+00:00', NULL, '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}', '', '2026-11-28 11:49:53.225+00:00', '2026-11-28 11:49:42.606+00:00');
DELETE FROM tb_webhook_event;
INSERT INTO tb_webhook_event (id, number, shop_id, subject, subject_number, type, body, create_time) VALUES
(1, 1, 1, 'order-665167530857287754', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:44.535Z","subject":{"kind":"order","id":"665167530857287754"},"number":1,"data":{"id":"665167530857287754","shopId":1,"voucherId":6,"userId":101,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:44.535Z","payBefore":"2026-11-28T12:04:44.535Z"}}', '2026-11-28 11:49:44.535+00:00'),
(2, 2, 1, 'order-665167532614402106', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:44.540Z","subject":{"kind":"order","id":"665167532614402106"},"number":1,"data":{"id":"665167532614402106","shopId":1,"voucherId":6,"userId":102,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:44.540Z","payBefore":"2026-11-28T12:04:44.540Z"}}', '2026-11-28 11:49:44.54+00:00'),
(3, 3, 1, 'order-665167533215873275', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:44.543Z","subject":{"kind":"order","id":"665167533215873275"},"number":1,"data":{"id":"665167533215873275","shopId":1,"voucherId":6,"userId":103,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:44.543Z","payBefore":"2026-11-28T12:04:44.543Z"}}', '2026-11-28 11:49:44.543+00:00'),
(4, 4, 1, 'order-665167533215873275', 2, 'order.paid', '{"version":1,"type":"order.paid","timestamp":"2026-11-28T11:49:44.546Z","subject":{"kind":"order","id":"665167533215873275"},"number":2,"data":{"id":"665167533215873275","shopId":1,"voucherId":6,"userId":103,"quantity":1,"amount":1000,"currency":"CNY","status":"paid","createTime":"2026-11-28T11:49:44.543Z","payBefore":"2026-11-28T12:04:44.543Z","payTime":"2026-11-28T11:49:44.546Z"}}', '2026-11-28 11:49:44.546+00:00'),
(5, 5, 1, 'order-665167530089619141', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:44.553Z","subject":{"kind":"order","id":"665167530089619141"},"number":1,"data":{"id":"665167530089619141","shopId":1,"voucherId":6,"userId":104,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:44.553Z","payBefore":"2026-11-28T12:04:44.553Z"}}', '2026-11-28 11:49:44.553+00:00'),
(6, 6, 1, 'order-665167530089619141', 2, 'order.paid', '{"version":1,"type":"order.paid","timestamp":"2026-11-28T11:49:44.587Z","subject":{"kind":"order","id":"665167530089619141"},"number":2,"data":{"id":"665167530089619141","shopId":1,"voucherId":6,"userId":104,"quantity":1,"amount":1000,"currency":"CNY","status":"paid","createTime":"2026-11-28T11:49:44.553Z","payBefore":"2026-11-28T12:04:44.553Z","payTime":"2026-11-28T11:49:44.587Z"}}', '2026-11-28 11:49:44.587+00:00'),
(7, 7, 1, 'order-665167530089619141', 3, 'order.redeemed', '{"version":1,"type":"order.redeemed","timestamp":"2026-11-28T11:49:44.608Z","subject":{"kind":"order","id":"665167530089619141"},"number":3,"data":{"id":"665167530089619141","shopId":1,"voucherId":6,"userId":104,"quantity":1,"amount":1000,"currency":"CNY","status":"redeemed","createTime":"2026-11-28T11:49:44.553Z","payBefore":"2026-11-28T12:04:44.553Z","payTime":"2026-11-28T11:49:44.587Z","redeemTime":"2026-11-28T11:49:44.608Z"}}', '2026-11-28 11:49:44.608+00:00'),
(8, 8, 1, 'order-665167532265589803', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:44.622Z","subject":{"kind":"order","id":"665167532265589803"},"number":1,"data":{"id":"665167532265589803","shopId":1,"voucherId":6,"userId":105,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:44.622Z","payBefore":"2026-11-28T12:04:44.622Z"}}', '2026-11-28 11:49:44.622+00:00'),
(9, 9, 1, 'order-665167532265589803', 2, 'order.cancelled', '{"version":1,"type":"order.cancelled","timestamp":"2026-11-28T11:49:44.632Z","subject":{"kind":"order","id":"665167532265589803"},"number":2,"data":{"id":"665167532265589803","shopId":1,"voucherId":6,"userId":105,"quantity":1,"amount":1000,"currency":"CNY","status":"cancelled","createTime":"2026-11-28T11:49:44.622Z","payBefore":"2026-11-28T12:04:44.622Z","cancelTime":"2026-11-28T11:49:44.632Z"}}', '2026-11-28 11:49:44.632+00:00'),
(10, 10, 1, 'order-665167533266766927', 1, 'order.unpaid', '{"version":1,"type":"order.unpaid","timestamp":"2026-11-28T11:49:44.651Z","subject":{"kind":"order","id":"665167533266766927"},"number":1,"data":{"id":"665167533266766927","shopId":1,"voucherId":6,"userId":106,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid","createTime":"2026-11-28T11:49:44.651Z","payBefore":"2026-11-28T12:04:44.651Z"}}', '2026-11-28 11:49:44.651+00:00'),
(11, 11, 1, 'order-665167533266766927', 2, 'order.paid', '{"version":1,"type":"order.paid","timestamp":"2026-11-28T11:49:44.654Z","subject":{"kind":"order","id":"665167533266766927"},"number":2,"data":{"id":"665167533266766927","shopId":1,"voucherId":6,"userId":106,"quantity":1,"amount":1000,"currency":"CNY","status":"paid","createTime":"2026-11-28T11:49:44.651Z","payBefore":"2026-11-28T12:04:44.651Z","payTime":"2026-11-28T11:49:44.654Z"}}', '2026-11-28 11:49:44.654+00:00'),
(12, 12, 1, 'order-665167533266766927', 3, 'order.refunding', '{"version":1,"type":"order.refunding","timestamp":"2026-11-28T11:49:44.655Z","subject":{"kind":"order","id":"665167533266766927"},"number":3,"data":{"id":"665167533266766927","shopId":1,"voucherId":6,"userId":106,"quantity":1,"amount":1000,"currency":"CNY","status":"refunding","createTime":"2026-11-28T11:49:44.651Z","payBefore":"2026-11-28T12:04:44.651Z","payTime":"2026-11-28T11:49:44.654Z","refundingTime":"2026-11-28T11:49:44.655Z"}}', '2026-11-28 11:49:44.655+00:00'),
(13, 13, 1, 'order-665167533266766927', 4, 'order.refunded', '{"version":1,"type":"order.refunded","timestamp":"2026-11-28T11:49:44.657Z","subject":{"kind":"order","id":"665167533266766927"},"number":4,"data":{"id":"665167533266766927","shopId":1,"voucherId":6,"userId":106,"quantity":1,"amount":1000,"currency":"CNY","status":"refunded","why":"the money has gone back","whyCode":"MONEY_BACK","createTime":"2026-11-28T11:49:44.651Z","payBefore":"2026-11-28T12:04:44.651Z","payTime":"2026-11-28T11:49:44.654Z","refundingTime":"2026-11-28T11:49:44.655Z","refundTime":"2026-11-28T11:49:44.657Z"}}', '2026-11-28 11:49:44.657+00:00');
DELETE FROM tb_webhook_retry;
INSERT INTO tb_webhook_retry (endpoint_id, subject, number, attempts, due_time, failure) VALUES
(1, 'order-665167530089619141', 5, 2, '2026-11-28 11:50:13.649+00:00', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}'),
(1, 'order-665167530857287754', 1, 1, '2026-11-28 11:49:53.049+00:00', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}'),
(1, 'order-665167532265589803', 8, 2, '2026-11-28 11:50:15.291+00:00', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}'),
(1, 'order-665167532614402106', 2, 2, '2026-11-28 11:50:17.32+00:00', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}'),
(1, 'order-665167533215873275', 3, 2, '2026-11-28 11:50:14.687+00:00', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}'),
(1, 'order-665167533266766927', 10, 1, '2026-11-28 11:49:57.546+00:00', '{"code":"CONNECTION_REFUSED","address":"127.0.0.1:9"}');
DELETE FROM tb_webhook_sequence;
INSERT INTO tb_webhook_sequence (id, number) VALUES
(1, 13);
