-- The three tables as the tutorial has them when it ends, in its schema hmdp, and rows such as it leaves behind.
CREATE TABLE hmdp.tb_voucher (
    id           BIGINT UNSIGNED  NOT NULL AUTO_INCREMENT PRIMARY KEY,
    shop_id      BIGINT UNSIGNED  NULL,
    title        VARCHAR(255)     NOT NULL,
    sub_title    VARCHAR(255)     NULL,
    rules        VARCHAR(1024)    NULL,
    pay_value    BIGINT UNSIGNED  NOT NULL,
    actual_value BIGINT           NOT NULL,
    type         TINYINT UNSIGNED NOT NULL DEFAULT 0,
    status       TINYINT UNSIGNED NOT NULL DEFAULT 1,
    create_time  TIMESTAMP        NOT NULL DEFAULT CURRENT_TIMESTAMP,
    update_time  TIMESTAMP        NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

CREATE TABLE hmdp.tb_seckill_voucher (
    voucher_id  BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    stock       INT             NOT NULL,
    create_time TIMESTAMP       NOT NULL DEFAULT CURRENT_TIMESTAMP,
    begin_time  TIMESTAMP       NOT NULL DEFAULT CURRENT_TIMESTAMP,
    end_time    TIMESTAMP       NOT NULL DEFAULT CURRENT_TIMESTAMP,
    update_time TIMESTAMP       NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

CREATE TABLE hmdp.tb_voucher_order (
    id          BIGINT           NOT NULL PRIMARY KEY,
    user_id     BIGINT UNSIGNED  NOT NULL,
    voucher_id  BIGINT UNSIGNED  NOT NULL,
    pay_type    TINYINT UNSIGNED NOT NULL DEFAULT 1,
    status      TINYINT UNSIGNED NOT NULL DEFAULT 1,
    create_time TIMESTAMP        NOT NULL DEFAULT CURRENT_TIMESTAMP,
    pay_time    TIMESTAMP        NULL,
    use_time    TIMESTAMP        NULL,
    refund_time TIMESTAMP        NULL,
    update_time TIMESTAMP        NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

INSERT INTO hmdp.tb_voucher (id, shop_id, title, sub_title, rules, pay_value, actual_value, type, status) VALUES
    (1, 1, '50元代金券', '周一至周日均可使用', '全场通用\\n无需预约', 4750, 5000, 0, 1),
    (10, 1, '100元代金券', NULL, NULL, 8000, 10000, 1, 1),
    (11, 1, 'oversold', NULL, NULL, 8000, 10000, 1, 1),
    (12, 1, 'its type was left out', NULL, NULL, 8000, 10000, 0, 1),
    (13, 1, 'its sale is gone', NULL, NULL, 8000, 10000, 1, 1);

INSERT INTO hmdp.tb_seckill_voucher (voucher_id, stock, begin_time, end_time) VALUES
    (10, 5, NOW() - INTERVAL 1 HOUR, NOW() + INTERVAL 1 DAY),
    (11, -2, NOW() - INTERVAL 1 HOUR, NOW() + INTERVAL 1 DAY),
    (12, 3, NOW() - INTERVAL 1 HOUR, NOW() + INTERVAL 1 DAY);

INSERT INTO hmdp.tb_voucher_order (id, user_id, voucher_id, status) VALUES
    (576951452317004001, 1001, 10, 1), -- waits for its payment
    (576951452317004002, 1002, 10, 1), -- the first of two of one user, both unpaid
    (576951452317004003, 1002, 10, 1),
    (576951452317004004, 1003, 10, 1), -- the first of two of one user: the second is paid
    (576951452317004005, 1003, 10, 2),
    (576951452317004006, 1004, 10, 3),
    (576951452317004007, 1005, 10, 4),
    (576951452317004008, 1006, 10, 5),
    (576951452317004009, 1007, 10, 6),
    (576951452317004010, 1008, 99, 1), -- its voucher is gone
    (576951452317004011, 1001, 11, 1),
    (576951452317004012, 1002, 11, 2);
