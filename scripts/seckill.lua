-- seckill.lua: the gate of one sale: accepts or refuses requests. It checks the window, the stock and one order per user,
-- and appends the accepted orders to the stream: all of it in one atomic step.
--
-- KEYS (one hash slot)
--   1  sale     hash    the sale's state; fields in docs/architecture.md
--   2  buyers   hash    user id -> order id: the holders; with several units, order id ":" quantity
--   3  orders   stream  accepted orders that wait for their rows
-- ARGV
--   1  voucher id
--   2  known epoch       the highest mark (epoch, sequence) that the caller has seen of this sale
--   3  known sequence
--   4  max backlog       entries in the stream at which no request is accepted any more
--   5… user id, order id; one pair for each request, 1 to 256 pairs. Ids are opaque text, never numbers: a Lua
--      number is exact only up to 2^53. The order id 0: the user may not enter, and is only told of an order that
--      they have (internal/guard)
--   n  quantities        only if some request asks for several units: how many each asks for, 1 to 20, as "units 1 3 1"
--
-- Returns a flat array:
--   1  mode              "open", "paused", "off" or "rebuild"; "" when there is no sale
--   2  epoch
--   3  sequence          after this call
--   4  stock             units left after this call, returned and reserved ones that are not yet sellable included
--   5  buyers            how many holders there are after this call
--   6  begin, 7 end      the window in milliseconds since 1970, the end exclusive
--   8  now               Redis's clock in milliseconds since 1970
--   9… one element for each request, in order: one of the codes below; or the text of the order that the user has
--      already, as in buyers (ALREADY_BOUGHT, which is never returned as a code); or, below 0, how many units are left,
--      fewer than the request asks for (NOT_ENOUGH, likewise)
--
-- An error reply that names Redis's own state (OOM, READONLY, MISCONF, NOREPLICAS) means that nothing was written:
-- Redis refuses a script's first write or none. That is why XADD, which such a Redis refuses, comes first.
--
-- The same call sent again accepts nothing twice and answers ACCEPTED again for what it accepted (rule 3,
-- docs/architecture.md). A refusal may differ by then.

-- The codes, in the order in which they are decided. internal/order/outcome.go has the same numbers and names, and what
-- follows from each.
local ACCEPTED = 0    -- its units were taken for this order id, now or by an earlier call
-- ALREADY_BOUGHT = 1: the user has another order. It is asked before mode, window and stock, so that a winner whose
--                    answer was lost is told the order whatever has happened to the sale since
local NO_SALE = 2     -- there is no readable sale, as where a key is of another type; for every request
local LOST_TAIL = 3   -- the sale is behind the known mark: this Redis has lost writes that it had acknowledged. Or another
--                    server opened it: this one was restarted or took over, and may have lost some. The sale is stopped
--                    (mode "rebuild"), unless Redis takes no writes; the caller asks for a rebuild of the epoch in this
--                    answer either way. For every request, as the holders may be out of date too
local REBUILDING = 4
local OFF_SHELF = 5
local PAUSED = 6      -- also, for a moment after some rebuilds, where a unit could be sold (begin_rebuild.lua says why)
local NOT_STARTED = 7
local ENDED = 8
local SOLD_OUT = 9    -- no sellable unit
local BACKLOGGED = 10 -- too many orders wait in the stream
-- NOT_ENOUGH = 11: there are sellable units, but fewer than the request asks for. It is decided after PAUSED
local BARRED = 12     -- the user is no holder, and may not enter. It is asked before mode, window and stock too

local FIRST = 5 -- where the pairs begin in ARGV
local MAX_REQUESTS = 256
local MAX_QUANTITY = 20
local MAX_DELAY = 60000 -- for how many milliseconds returned units wait at most; as in correct.lua

local call = redis.call
local sale_key, buyers_key, orders_key = KEYS[1], KEYS[2], KEYS[3]
local voucher = ARGV[1]
local known_epoch, known_seq, max_backlog = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local n = math.floor((#ARGV - FIRST + 1) / 2)
local quantities -- of the requests; nil where each asks for one unit
local bad = not (known_epoch and known_seq and max_backlog) or n < 1 or n > MAX_REQUESTS
if #ARGV - FIRST + 1 > 2 * n then
  quantities = {}
  for text in string.gmatch(string.match(ARGV[#ARGV], '^units (.+)$') or '', '%S+') do
    quantities[#quantities + 1] = tonumber(text) or 0
    bad = bad or quantities[#quantities] < 1 or quantities[#quantities] > MAX_QUANTITY
  end
  bad = bad or #quantities ~= n
end
if bad then
  return redis.error_reply('ERR seckill.lua: bad arguments')
end

-- Read everything first: a script that fails after a write is not undone.
local users = {}
for i = 1, n do
  users[i] = ARGV[FIRST + 2 * i - 2]
end
local clock = call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local sale = redis.pcall('HMGET', sale_key, 'mode', 'epoch', 'seq', 'stock', 'returned', 'returned_at', 'begin', 'end',
  'reserved', 'resumes', 'server')
local holders = redis.pcall('HMGET', buyers_key, unpack(users)) -- order ids
local buyers = holders.err and 0 or call('HLEN', buyers_key)
local backlog = call('XLEN', orders_key)

local function number(field)
  return field and tonumber(field) or nil
end
local mode, epoch, seq, stock = sale[1], number(sale[2]), number(sale[3]), number(sale[4])
local returned, returned_at = number(sale[5]) or 0, number(sale[6]) or 0
local opens, closes = number(sale[7]), number(sale[8])
local reserved = 0 -- returned units that apply.lua keeps for a revival
if (number(sale[9]) or 0) > 0 then
  reserved = number(call('HGET', sale_key, 'reserved_units')) or 1
end
local resumes = number(sale[10]) or 0 -- from when a rebuilt sale sells
local MAX = 9007199254740992 -- 2^53: beyond it Lua is not exact. Such a number, or nan, was written by hand
local MAX_LEAD = 1e9 -- epochs; as in begin_rebuild.lua. Were it believed, no rebuild would reach what callers know
local readable = epoch and seq and stock and opens and closes and not holders.err
  and epoch <= known_epoch + MAX_LEAD and seq >= 0 and seq < MAX and stock >= 0 and stock < MAX and closes < MAX
  and (mode == 'open' or mode == 'paused' or mode == 'off' or mode == 'rebuild')

local function answer_all(code)
  local answer = {mode or '', epoch or 0, seq or 0, (stock or 0) + returned + reserved, buyers, opens or 0, closes or 0, now}
  for i = 1, n do
    answer[8 + i] = code
  end
  return answer
end

if not readable then
  mode, epoch, seq, stock, returned, reserved = '', 0, 0, 0, 0, 0
  return answer_all(NO_SALE)
end

-- Whether another server, or another run of this one, opened the sale. A restart or a failover may lose the tail, and
-- admissions that follow unnoticed would fill the gap that shows the loss. Where INFO is forbidden, it goes unnoticed.
local function other_server()
  if not sale[11] or sale[11] == '' then
    return false
  end
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and not string.find(info, sale[11], 1, true)
end

if epoch < known_epoch or (epoch == known_epoch and seq < known_seq) or other_server() then
  if mode ~= 'rebuild' then
    -- Refused when out of memory or read-only; the caller requests the rebuild all the same.
    redis.pcall('HSET', sale_key, 'mode', 'rebuild')
    mode = 'rebuild'
  end
  return answer_all(LOST_TAIL)
end

-- Units that came back to a sold-out sale join the stock once their time has come (rule 11). A time further off than
-- MAX_DELAY comes from a clock that was set back since, as by a failover to a server whose clock is behind.
if returned > 0 and (now >= returned_at or returned_at - now > MAX_DELAY) then
  stock, returned = stock + returned, 0
end

local refusal -- why no new holder is accepted, if so
if mode == 'rebuild' then
  refusal = REBUILDING
elseif mode == 'off' then
  refusal = OFF_SHELF
elseif mode == 'paused' then
  refusal = PAUSED
elseif now < opens then
  refusal = NOT_STARTED
elseif now >= closes then
  refusal = ENDED
end

local outcomes = {}
local accepted, taken = 0, 0 -- orders, and their units
local added = {}    -- user, order, user, order…: what HSET writes to buyers
local order_of = {} -- user -> order that this call accepted
for i = 1, n do
  local user, order, quantity = users[i], ARGV[FIRST + 2 * i - 1], 1
  local asks = order == '0' -- for the order that the user has, and not for units
  if quantities and quantities[i] > 1 then
    quantity = quantities[i]
    order = order .. ':' .. string.format('%d', quantity)
  end
  local current = order_of[user] or holders[i]
  if current == order and not asks then
    outcomes[i] = ACCEPTED
  elseif current then
    outcomes[i] = current
  elseif asks then
    outcomes[i] = BARRED
  elseif refusal then
    outcomes[i] = refusal
  elseif stock - taken <= 0 then
    outcomes[i] = SOLD_OUT
  elseif now < resumes and resumes - now <= MAX_DELAY then
    outcomes[i] = PAUSED
  elseif stock - taken < quantity then
    outcomes[i] = taken - stock
  elseif backlog + accepted >= max_backlog then
    outcomes[i] = BACKLOGGED
  else
    accepted, taken = accepted + 1, taken + quantity
    added[2 * accepted - 1], added[2 * accepted] = user, order
    order_of[user] = order
    outcomes[i] = ACCEPTED
  end
end

if accepted > 0 then
  local epoch_text = sale[2]
  for i = 1, accepted do
    call('XADD', orders_key, '*', 'v', voucher, 'u', added[2 * i - 1], 'o', added[2 * i],
      'e', epoch_text, 's', string.format('%.0f', seq + i))
  end
  call('HSET', buyers_key, unpack(added))
  stock, seq, buyers = stock - taken, seq + accepted, buyers + accepted
  call('HSET', sale_key, 'stock', string.format('%.0f', stock), 'seq', string.format('%.0f', seq),
    'returned', string.format('%.0f', returned))
  if taken > accepted then
    redis.pcall('HINCRBY', sale_key, 'extra', taken - accepted) -- a rebuild sets it anew if somebody wrote text there
  end
end

local answer = {mode, epoch, seq, stock + returned + reserved, buyers, opens, closes, now}
for i = 1, n do
  answer[8 + i] = outcomes[i]
end
return answer
