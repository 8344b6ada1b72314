-- Brings the tutorial's three tables over: from its schema hmdp into this service's schema seckill on the same server.
--
-- Before: the tutorial is stopped, its stream is drained (docs/tutorial.md), and `server migrate` has made the tables of
-- seckill, which hold no voucher yet. Run it with a client that stops at the first error:
--
--   mysql --user=… < examples/tutorial/move.sql
--
-- All or nothing: an error leaves seckill as it was. hmdp is only read. Nothing is moved in Redis: the service builds
-- each sale there from these rows when it starts.

-- The tutorial's TIMESTAMPs are read in UTC, in which this service keeps its times.
SET SESSION time_zone = '+00:00';
START TRANSACTION;

-- A voucher is sold in a sale if it has one, whatever its type says. One of the type without a sale goes off the shelf:
-- as an ordinary voucher it would have no stock to end with.
INSERT INTO seckill.tb_voucher
    (id, shop_id, title, sub_title, rules, pay_value, actual_value, type, status, version, create_time, update_time)
SELECT v.id, v.shop_id, v.title, COALESCE(v.sub_title, ''), COALESCE(v.rules, ''), v.pay_value, v.actual_value,
       IF(s.voucher_id IS NULL, 0, 1), IF(s.voucher_id IS NULL AND v.type = 1, 2, v.status), 1, v.create_time, v.update_time
FROM hmdp.tb_voucher v
LEFT JOIN hmdp.tb_seckill_voucher s ON s.voucher_id = v.id;

-- Orders. The states 1 to 6 have the same numbers. The tutorial may have sold a user two units of one sale: the order
-- that has come furthest, or else the first, stands, and the others are failed orders with their old state in `detail`.
-- Unpaid ones get a quarter of an hour to be paid; then they are cancelled and their units go on sale again.
INSERT INTO seckill.tb_voucher_order
    (id, user_id, voucher_id, kind, amount, pay_type, status, reason, detail, create_time, pay_deadline, pay_time,
     redeem_time, cancel_time, refunding_time, refund_time, fail_time)
SELECT o.id, o.user_id, o.voucher_id, COALESCE(v.type, 1), COALESCE(v.pay_value, 0),
       IF(o.status IN (2, 3, 5, 6), o.pay_type, 0), IF(o.reason = '', o.status, 7), o.reason,
       IF(o.reason = '', '', CONCAT('was in state ', o.status, ' before the move')), o.create_time,
       IF(o.status = 1 AND o.reason = '', UTC_TIMESTAMP(3) + INTERVAL 15 MINUTE, NULL),
       IF(o.status IN (2, 3, 5, 6), COALESCE(o.pay_time, o.update_time), NULL),
       IF(o.status = 3, COALESCE(o.use_time, o.update_time), NULL),
       IF(o.status = 4, o.update_time, NULL),
       IF(o.status IN (5, 6), COALESCE(o.refund_time, o.update_time), NULL),
       IF(o.status = 6, COALESCE(o.refund_time, o.update_time), NULL),
       IF(o.reason = '', NULL, UTC_TIMESTAMP(3))
FROM (
    SELECT o.*, CASE
        WHEN v.id IS NULL THEN 'UNKNOWN_VOUCHER'
        WHEN v.type = 1 AND o.status IN (1, 2, 3, 5) AND ROW_NUMBER() OVER (
            PARTITION BY o.user_id, o.voucher_id, o.status IN (1, 2, 3, 5)
            ORDER BY o.status = 1, o.id) > 1 THEN 'DUPLICATE_BUYER'
        ELSE '' END AS reason
    FROM hmdp.tb_voucher_order o
    LEFT JOIN seckill.tb_voucher v ON v.id = o.voucher_id
) o
LEFT JOIN seckill.tb_voucher v ON v.id = o.voucher_id;

-- Sales. What was issued follows from what is left and who has a unit, so that all units are accounted for, even those
-- that the tutorial sold too many of.
INSERT INTO seckill.tb_seckill_voucher (voucher_id, stock, issued, begin_time, end_time)
SELECT s.voucher_id, GREATEST(s.stock, 0),
       GREATEST(s.stock, 0) +
           (SELECT COUNT(*) FROM seckill.tb_voucher_order o WHERE o.voucher_id = s.voucher_id AND o.live = 1),
       s.begin_time, s.end_time
FROM hmdp.tb_seckill_voucher s
JOIN seckill.tb_voucher v ON v.id = s.voucher_id;

COMMIT;
