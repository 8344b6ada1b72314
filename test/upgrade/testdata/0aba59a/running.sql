CREATE TABLE `tb_audit` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `voucher_id` bigint(20) NOT NULL DEFAULT 0 COMMENT '0: it concerns no voucher',
  `admin_id` bigint(20) NOT NULL COMMENT 'user id; 0: the service itself',
  `request_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'of the request, as in the log',
  `action` varchar(16) NOT NULL COMMENT 'create, change, pause, resume, stock, replay, discard',
  `changes` text NOT NULL COMMENT 'JSON: which fields, from what, to what',
  `delta` bigint(20) NOT NULL DEFAULT 0 COMMENT 'of stock: units added; negative ones were to be taken',
  `operation` bigint(20) NOT NULL DEFAULT 0 COMMENT 'of stock: number in tb_voucher_operation, which tells what became of it',
  `create_time` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_audit_voucher` (`voucher_id`),
  KEY `idx_audit_admin` (`admin_id`)
) ENGINE=InnoDB AUTO_INCREMENT=2 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO `tb_audit` (`id`, `voucher_id`, `admin_id`, `request_id`, `action`, `changes`, `delta`, `operation`, `create_time`) VALUES ('1', '1', '9000001', 'c119bd71-6541-4db8-b35f-eaf3ff51fbd8', 'create', '[{"field":"shopId","from":"","to":"1"},{"field":"title","from":"","to":"100 for 10"},{"field":"payValue","from":"","to":"1000"},{"field":"actualValue","from":"","to":"10000"},{"field":"payWithinSeconds","from":"","to":"2592000"},{"field":"status","from":"","to":"1"},{"field":"stock","from":"","to":"40"},{"field":"beginTime","from":"","to":"2026-11-22T08:00:52Z"},{"field":"endTime","from":"","to":"2099-01-01T00:00:00Z"},{"field":"paused","from":"","to":"false"}]', '0', '0', '2026-11-22 08:01:52.443');
CREATE TABLE `tb_fence` (
  `name` varchar(64) NOT NULL,
  `token` bigint(20) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO `tb_fence` (`name`, `token`) VALUES ('closer', '1795334512426834');
CREATE TABLE `tb_migration` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `version_id` bigint(20) NOT NULL,
  `is_applied` tinyint(1) NOT NULL,
  `tstamp` datetime DEFAULT current_timestamp(),
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `tb_migration` (`id`, `version_id`, `is_applied`, `tstamp`) VALUES ('1', '0', '1', '2026-11-22 08:01:51');
INSERT INTO `tb_migration` (`id`, `version_id`, `is_applied`, `tstamp`) VALUES ('2', '1', '1', '2026-11-22 08:01:52');
INSERT INTO `tb_migration` (`id`, `version_id`, `is_applied`, `tstamp`) VALUES ('3', '2', '1', '2026-11-22 08:01:52');
INSERT INTO `tb_migration` (`id`, `version_id`, `is_applied`, `tstamp`) VALUES ('4', '3', '1', '2026-11-22 08:01:52');
CREATE TABLE `tb_order_collision` (
  `claim_id` bigint(20) NOT NULL,
  `user_id` bigint(20) NOT NULL,
  `order_id` bigint(20) NOT NULL,
  `create_time` datetime(3) NOT NULL,
  PRIMARY KEY (`claim_id`,`user_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `tb_order_event` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `order_id` bigint(20) NOT NULL,
  `status` tinyint(4) NOT NULL COMMENT 'of the order from then on',
  `actor` varchar(32) NOT NULL COMMENT 'who did it',
  `why` varchar(255) NOT NULL DEFAULT '' COMMENT 'for people',
  `create_time` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_event_order` (`order_id`)
) ENGINE=InnoDB AUTO_INCREMENT=2 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO `tb_order_event` (`id`, `order_id`, `status`, `actor`, `why`, `create_time`) VALUES ('1', '662882301453649696', '4', 'owner', '', '2026-11-22 08:01:52.477');
CREATE TABLE `tb_order_request` (
  `user_id` bigint(20) NOT NULL,
  `request_key` varchar(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `order_id` bigint(20) NOT NULL,
  `create_time` datetime(3) NOT NULL,
  PRIMARY KEY (`user_id`,`request_key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `tb_payment` (
  `id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'the provider knows it by this',
  `order_id` bigint(20) NOT NULL,
  `user_id` bigint(20) NOT NULL,
  `voucher_id` bigint(20) NOT NULL,
  `amount` bigint(20) NOT NULL COMMENT 'cents, the order''s',
  `state` tinyint(4) NOT NULL COMMENT '1 open, 2 received, 3 late, 4 refunding, 5 refunded',
  `operation` bigint(20) DEFAULT NULL COMMENT 'number of the revival that decides about a late one',
  `create_time` datetime(3) NOT NULL,
  `receive_time` datetime(3) DEFAULT NULL COMMENT 'when the provider said that it has the money',
  `accept_time` datetime(3) DEFAULT NULL COMMENT 'when the order was paid with it',
  `refund_time` datetime(3) DEFAULT NULL COMMENT 'when the money had gone back',
  PRIMARY KEY (`id`),
  KEY `idx_payment_order` (`order_id`),
  KEY `idx_payment_state` (`state`,`create_time`),
  CONSTRAINT `ck_payment_state` CHECK (`state` between 1 and 5)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `tb_seckill_voucher` (
  `voucher_id` bigint(20) NOT NULL,
  `stock` bigint(20) NOT NULL COMMENT 'units that no live order holds',
  `issued` bigint(20) NOT NULL COMMENT 'units in all: stock + live orders',
  `begin_time` datetime(3) NOT NULL,
  `end_time` datetime(3) NOT NULL COMMENT 'exclusive',
  `paused` tinyint(1) NOT NULL DEFAULT 0 COMMENT 'by an admin',
  `epoch` bigint(20) NOT NULL DEFAULT 0 COMMENT 'raised by every rebuild in Redis; 0 before the first',
  `sequence` bigint(20) NOT NULL DEFAULT 0 COMMENT 'highest admission of the epoch that was recorded',
  `partition_no` int(11) NOT NULL DEFAULT 0 COMMENT 'which stream its orders go to; never computed again',
  `retired` tinyint(1) NOT NULL DEFAULT 0 COMMENT 'over and drained: Redis no longer holds it',
  `last_operation` bigint(20) NOT NULL DEFAULT 0 COMMENT 'number of the last row in tb_voucher_operation',
  PRIMARY KEY (`voucher_id`),
  KEY `idx_seckill_retired` (`retired`),
  CONSTRAINT `ck_seckill_stock` CHECK (`stock` >= 0),
  CONSTRAINT `ck_seckill_window` CHECK (`end_time` > `begin_time`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO `tb_seckill_voucher` (`voucher_id`, `stock`, `issued`, `begin_time`, `end_time`, `paused`, `epoch`, `sequence`, `partition_no`, `retired`, `last_operation`) VALUES ('1', '22', '40', '2026-11-22 08:00:52.000', '2099-01-01 00:00:00.000', '0', '1', '19', '0', '0', '1');
CREATE TABLE `tb_setting` (
  `name` varchar(64) NOT NULL,
  `value` varbinary(255) NOT NULL,
  `create_time` datetime(3) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO `tb_setting` (`name`, `value`, `create_time`) VALUES ('order_id_key', X'8125EFB4E1418570E1C7CCB16F02DD73', '2026-11-22 08:01:52.418');
CREATE TABLE `tb_voucher` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `shop_id` bigint(20) NOT NULL,
  `title` varchar(255) NOT NULL,
  `sub_title` varchar(255) NOT NULL DEFAULT '',
  `rules` varchar(1024) NOT NULL DEFAULT '',
  `pay_value` bigint(20) NOT NULL COMMENT 'what the buyer pays, cents',
  `actual_value` bigint(20) NOT NULL COMMENT 'what it is worth, cents',
  `type` tinyint(4) NOT NULL COMMENT '0 ordinary, 1 seckill',
  `status` tinyint(4) NOT NULL COMMENT '1 on the shelf, 2 off, 3 expired',
  `version` bigint(20) NOT NULL COMMENT 'raised by every change',
  `create_time` datetime(3) NOT NULL,
  `update_time` datetime(3) NOT NULL,
  `pay_within` bigint(20) NOT NULL DEFAULT 900 COMMENT 'how long an order may stay unpaid, seconds',
  PRIMARY KEY (`id`),
  KEY `idx_voucher_shop` (`shop_id`,`status`),
  CONSTRAINT `ck_voucher_value` CHECK (`pay_value` >= 0 and `actual_value` >= 0),
  CONSTRAINT `ck_voucher_type` CHECK (`type` in (0,1)),
  CONSTRAINT `ck_voucher_status` CHECK (`status` in (1,2,3))
) ENGINE=InnoDB AUTO_INCREMENT=2 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO `tb_voucher` (`id`, `shop_id`, `title`, `sub_title`, `rules`, `pay_value`, `actual_value`, `type`, `status`, `version`, `create_time`, `update_time`, `pay_within`) VALUES ('1', '1', '100 for 10', '', '', '1000', '10000', '1', '1', '1', '2026-11-22 08:01:52.443', '2026-11-22 08:01:52.443', '2592000');
CREATE TABLE `tb_voucher_operation` (
  `voucher_id` bigint(20) NOT NULL,
  `number` bigint(20) NOT NULL COMMENT 'from 1, without gaps, for each voucher',
  `kind` varchar(16) NOT NULL COMMENT 'cancel, close, refund, revive, stock, pause, resume, shelf, window',
  `delta` bigint(20) NOT NULL COMMENT 'units that go on sale; negative ones are to be taken',
  `order_id` bigint(20) DEFAULT NULL,
  `user_id` bigint(20) DEFAULT NULL COMMENT 'whose order it is',
  `mode` tinyint(4) NOT NULL DEFAULT 0 COMMENT 'of the sale from now on: 0 as before, 1 open, 2 paused, 3 off the shelf',
  `begin_time` datetime(3) DEFAULT NULL COMMENT 'of the sale from now on; NULL: as before',
  `end_time` datetime(3) DEFAULT NULL,
  `actor` varchar(32) NOT NULL COMMENT 'who did it',
  `idempotency_key` varchar(255) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'of the request that asked for it',
  `state` tinyint(4) NOT NULL COMMENT '1 pending, 2 applied to Redis, 3 absorbed by a rebuild, 4 refused, 5 void',
  `create_time` datetime(3) NOT NULL,
  `settle_time` datetime(3) DEFAULT NULL COMMENT 'when it ceased to be pending',
  PRIMARY KEY (`voucher_id`,`number`),
  UNIQUE KEY `uk_operation_request` (`voucher_id`,`idempotency_key`),
  KEY `idx_operation_state` (`state`,`voucher_id`,`number`),
  CONSTRAINT `ck_operation_state` CHECK (`state` between 1 and 5)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO `tb_voucher_operation` (`voucher_id`, `number`, `kind`, `delta`, `order_id`, `user_id`, `mode`, `begin_time`, `end_time`, `actor`, `idempotency_key`, `state`, `create_time`, `settle_time`) VALUES ('1', '1', 'cancel', '1', '662882301453649696', '1', '0', NULL, NULL, 'owner', NULL, '2', '2026-11-22 08:01:52.477', '2026-11-22 08:01:52.481');
CREATE TABLE `tb_voucher_order` (
  `id` bigint(20) NOT NULL,
  `user_id` bigint(20) NOT NULL,
  `voucher_id` bigint(20) NOT NULL,
  `kind` tinyint(4) NOT NULL COMMENT 'as tb_voucher.type',
  `amount` bigint(20) NOT NULL COMMENT 'cents, copied from the voucher',
  `pay_type` tinyint(4) NOT NULL DEFAULT 0 COMMENT '0 not paid yet',
  `status` tinyint(4) NOT NULL COMMENT '1 unpaid, 2 paid, 3 redeemed, 4 cancelled, 5 refunding, 6 refunded, 7 failed',
  `reason` varchar(32) NOT NULL DEFAULT '' COMMENT 'why it failed, for programs',
  `detail` varchar(512) NOT NULL DEFAULT '' COMMENT 'why it failed, for people',
  `create_time` datetime(3) NOT NULL COMMENT 'when it was recorded',
  `pay_time` datetime(3) DEFAULT NULL,
  `redeem_time` datetime(3) DEFAULT NULL,
  `cancel_time` datetime(3) DEFAULT NULL,
  `refunding_time` datetime(3) DEFAULT NULL,
  `refund_time` datetime(3) DEFAULT NULL,
  `fail_time` datetime(3) DEFAULT NULL,
  `live` tinyint(4) GENERATED ALWAYS AS (case when `kind` = 1 and `status` in (1,2,3,5) then 1 else NULL end) STORED,
  `pay_deadline` datetime(3) DEFAULT NULL COMMENT 'an unpaid order is closed then',
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_order_live` (`user_id`,`voucher_id`,`live`),
  KEY `idx_order_voucher` (`voucher_id`),
  KEY `idx_order_due` (`status`,`pay_deadline`),
  CONSTRAINT `ck_order_kind` CHECK (`kind` in (0,1)),
  CONSTRAINT `ck_order_status` CHECK (`status` between 1 and 7)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882297876403516', '3', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.453', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.453');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882298012225384', '6', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.454', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.454');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882298098843647', '17', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.491', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.491');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882298113883922', '10', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.457', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.457');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882298211532845', '13', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.489', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.489');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882299572231223', '16', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.491', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.491');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882299996903997', '11', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.485', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.485');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882300231605727', '9', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.457', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.457');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882300416532117', '2', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.453', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.453');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882300812480158', '5', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.453', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.453');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882300818049129', '18', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.491', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.491');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882300856289712', '15', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.490', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.490');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882301339273016', '14', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.490', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.490');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882301362124601', '4', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.453', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.453');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882301453649696', '1', '1', '1', '1000', '0', '4', '', '', '2026-11-22 08:01:52.451', NULL, NULL, '2026-11-22 08:01:52.477', NULL, NULL, NULL, '2026-12-22 08:01:52.451');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882301473649396', '19', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.491', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.491');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882301668441595', '8', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.455', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.455');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882301705387499', '7', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.455', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.455');
INSERT INTO `tb_voucher_order` (`id`, `user_id`, `voucher_id`, `kind`, `amount`, `pay_type`, `status`, `reason`, `detail`, `create_time`, `pay_time`, `redeem_time`, `cancel_time`, `refunding_time`, `refund_time`, `fail_time`, `pay_deadline`) VALUES ('662882301799771656', '12', '1', '1', '1000', '0', '1', '', '', '2026-11-22 08:01:52.489', NULL, NULL, NULL, NULL, NULL, NULL, '2026-12-22 08:01:52.489');
